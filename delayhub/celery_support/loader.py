"""Celery's app loader, which also installs DelayHub: ``CELERY_LOADER=delayhub.celery_support.loader:Loader``."""

from __future__ import annotations

from typing import Any

from celery.loaders.app import AppLoader

from delayhub.celery_support.install import install


class Loader(AppLoader):
    """For projects whose code is not to be changed: an environment variable and the broker's URL are enough."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        install(app)
