"""The loader that installs DelayHub in every Celery app of a process: ``CELERY_LOADER=delayhub.loader:Loader``.

For projects whose code is not to be changed: this variable and the broker's URL are enough.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, cast

from celery.app.control import Control as CeleryControl
from celery.loaders.app import AppLoader
from celery.utils.imports import symbol_by_name

from delayhub.extras import not_installed

try:
    from delayhub.celery_support.install import install
except ModuleNotFoundError as error:
    raise not_installed(error, extra="celery") from None


class Loader(AppLoader):
    """Does what the loader of the app's own class does (Celery's, where it has none), and installs DelayHub."""

    def __new__(cls, app: Any, **options: Any) -> Loader:
        """A loader that is also one of the class that the app would have without the variable."""
        del options
        named = type(app).loader_cls
        own = symbol_by_name(named) if named else AppLoader
        if issubclass(cls, own):
            return super().__new__(cls)
        both = type(cls.__name__, (cls, own), {"__module__": __name__})
        return cast("Loader", super().__new__(both))

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        install(app)
        waiting = _control_that_is_being_made(app)
        if waiting is not None:
            waiting.__class__ = symbol_by_name(app.control_cls)


def _control_that_is_being_made(app: Any) -> CeleryControl | None:
    """The app's first ``control``, where its making is what made Celery load this loader.

    Celery keeps it as ``app.control`` when it is made, so that to forget an earlier one does not help.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        made = frame.f_locals.get("self") if frame.f_code.co_name == "__init__" else None
        if isinstance(made, CeleryControl) and made.app is app:
            return made
        frame = frame.f_back
    return None
