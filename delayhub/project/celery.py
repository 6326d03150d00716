"""The Celery app of the ready-made project: ``celery -A delayhub.project worker``."""

from __future__ import annotations

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_process_init, worker_ready

import delayhub
from delayhub.project import garbage

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "delayhub.project.settings")

app = Celery("delayhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
delayhub.install(app)
app.autodiscover_tasks()


@worker_ready.connect
@worker_process_init.connect
def collect_as_usual(**_: Any) -> None:
    """Restore the garbage collector's threshold in a worker, and in each child of a prefork pool."""
    garbage.collect_as_usual()


@setup_logging.connect
def keep_our_logging(loglevel: int | str | None = None, **_: Any) -> None:
    """Stops Celery from putting its own handlers in place of ``LOGGING``; a ``--loglevel`` that is given counts."""
    from click import get_current_context  # noqa: PLC0415  web processes do without
    from click.core import ParameterSource  # noqa: PLC0415  the same

    context = get_current_context(silent=True)
    is_celerys_own = context is not None and context.get_parameter_source("loglevel") is ParameterSource.DEFAULT
    if loglevel is not None and not is_celerys_own:
        logging.getLogger().setLevel(loglevel)
