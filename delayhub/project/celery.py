"""The Celery app of the ready-made project: ``celery -A delayhub.project worker``."""

from __future__ import annotations

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging

import delayhub

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "delayhub.project.settings")

app = Celery("delayhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
delayhub.install(app)
app.autodiscover_tasks()


@setup_logging.connect
def keep_our_logging(loglevel: int | str | None = None, **_: Any) -> None:
    """Stops Celery from putting its own handlers in place of ``LOGGING``; ``--loglevel`` still counts."""
    if loglevel is not None:
        logging.getLogger().setLevel(loglevel)
