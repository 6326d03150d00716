"""Defaults of ours in an app's settings: above Celery's own, below all that the project sets, before or later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from celery.app import defaults

#: The names that settings had before Celery 4.
OLD_NAMES: Mapping[str, str] = cast("Any", defaults)._TO_OLD_KEY


def put_defaults(settings: Any, ours: Mapping[str, Any]) -> bool:
    """Puts defaults just above Celery's own, by the names that these have; False where they are there already.

    Where a project uses names of before Celery 4 (``CELERY_ACKS_LATE``), Celery names its own defaults so, too. Before
    Celery 5.7 a default under the new name would win over the project's setting under the old one.
    """
    celerys = settings.maps[-1]
    named = {name if name in celerys else OLD_NAMES[name]: value for name, value in ours.items()}
    if named in settings.defaults:
        return False
    # Celery looks through the maps in their order: the project's, those of add_defaults, and last its own defaults.
    for maps in (settings.defaults, settings.maps):
        maps.insert(len(maps) - 1, named)
    return True


def are_settings_made(app: Any) -> bool:
    """Whether the app has its settings; not while it makes the loader that reads them: to read one makes it again."""
    return bool(app.configured and "loader" in vars(app))
