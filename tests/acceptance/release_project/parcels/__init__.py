"""A project of which two releases run side by side; PARCELS_RELEASE says which one a process is."""

from parcels.celery import app as celery_app

__all__ = ["celery_app"]
