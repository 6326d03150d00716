"""A project whose tasks take their time."""

from patience.celery import app as celery_app

__all__ = ["celery_app"]
