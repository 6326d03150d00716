"""A shop whose unpaid orders close by themselves."""

from __future__ import annotations

from shop.celery import app as celery_app

__all__ = ["celery_app"]
