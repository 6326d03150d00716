"""The ready-made Django project: settings, addresses, health, and the Celery app.

The Celery app is imported here so that it is the current app wherever this project is loaded:
``@shared_task`` then binds to it.
"""

from __future__ import annotations

from delayhub.project.garbage import collect_rarely

collect_rarely()  # before the many imports

from delayhub.project.celery import app as celery_app  # noqa: E402  as above

__all__ = ["celery_app"]
