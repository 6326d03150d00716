"""The ready-made Django project: settings, addresses, health, and the Celery app.

The Celery app is imported here so that it is the current app wherever this project is loaded:
``@shared_task`` then binds to it.
"""

from __future__ import annotations

import gc

#: New objects after which Python looks for garbage. Its own 700 make it look again and again while a process imports
#: its modules, which are no garbage: a tenth of the CPU of its start.
NEW_OBJECTS = 50_000


def collect_seldom() -> None:
    """Lets Python look for garbage after 50 000 new objects, unless this process has another threshold already."""
    first, *others = gc.get_threshold()
    if 0 < first < NEW_OBJECTS:
        gc.set_threshold(NEW_OBJECTS, *others)


collect_seldom()  # before the many imports

from delayhub.project.celery import app as celery_app  # noqa: E402  as above

__all__ = ["celery_app"]
