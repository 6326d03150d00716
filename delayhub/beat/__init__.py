"""Schedulers for ``celery beat`` of which any number may run at once: each occurrence is published once.

``delayhub.beat:Scheduler`` reads ``beat_schedule``; ``delayhub.beat:DatabaseScheduler`` reads the tables of
django-celery-beat.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from delayhub.extras import not_installed

try:
    from delayhub.beat.shared_ticks import Scheduler
except ModuleNotFoundError as error:
    raise not_installed(error, extra="celery") from None

__all__ = ["DatabaseScheduler", "Scheduler"]


def __getattr__(name: str) -> Any:
    # Only who asks for it needs Django and django-celery-beat.
    if name == "DatabaseScheduler":
        return import_module("delayhub.beat.database_scheduler").DatabaseScheduler
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
