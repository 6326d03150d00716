"""What reports that series which tasks declare are not stored, or are stored otherwise: nothing makes their jobs then.

A worker logs it when it starts, and ``manage.py check --database default`` warns of it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from celery import current_app
from celery.signals import worker_ready
from django.apps import AppConfig
from django.core import checks
from django.core.checks import CheckMessage, Tags, register
from django.db import DatabaseError, InterfaceError, router

from delayhub.celery_support.delayed_task import DelayedTask
from tasksapp.errors import JobError
from tasksapp.models import Series
from tasksapp.task_backends.declared_series import Step, sync

logger = logging.getLogger(__name__)

#: Tasks that one sentence names.
MOST_NAMED = 5
_COMMAND = "run `manage.py sync_series` at each deploy"


@register(Tags.database)
def check_declared_series(
    app_configs: Sequence[AppConfig] | None = None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """A warning where series that tasks declare are not what is stored. It asks the database that series are in."""
    if router.db_for_write(Series) not in (databases or ()):
        return []
    try:
        current_app.loader.import_default_modules()
        faults = series_faults(current_app)
    except Exception:
        return []
    return [checks.Warning(fault, hint=f"R{_COMMAND[1:]}.", id="delayhub.W026") for fault in faults]


@worker_ready.connect(dispatch_uid="tasksapp.task_backends.series_report")
def report_declared_series(sender: Any = None, **_: Any) -> None:
    """Logs a warning for the series that this worker's tasks declare, and that are not what is stored."""
    # Those that are stored and that this worker does not know may be other workers'.
    for warning in series_warnings(sender.app, actions=("create", "change")):
        logger.warning("%s", warning, extra={"action": "startup"})


def series_warnings(app: Any, *, actions: Iterable[str] = ("create", "change", "delete")) -> list[str]:
    """What :func:`series_faults` says, and what to do; or a sentence that the two could not be compared."""
    try:
        return [f"{fault}; {_COMMAND}" for fault in series_faults(app, actions=actions)]
    except (DatabaseError, InterfaceError, JobError) as error:
        return [f"declared series could not be compared: {error}"]


def series_faults(app: Any, *, actions: Iterable[str] = ("create", "change", "delete")) -> list[str]:
    """A sentence for each kind of difference between what the app's tasks declare and what is stored.

    Raises what the database raises.
    """
    steps = sync([task for task in app.tasks.values() if isinstance(task, DelayedTask)], dry_run=True)
    found = {action: [step for step in steps if step.action == action] for action in actions}
    return [_WORDS[action] % _named(those) for action, those in found.items() if those]


def _named(steps: Sequence[Step]) -> str:
    more = f" and {len(steps) - MOST_NAMED} more" if len(steps) > MOST_NAMED else ""
    return ", ".join(step.task for step in steps[:MOST_NAMED]) + more


_WORDS = {
    "create": "tasks declare series that are not stored, so nothing makes their jobs: %s",
    "change": "tasks declare series that are stored with another schedule, which goes on: %s",
    "delete": "series are stored that no task declares any more, and they go on: %s",
}
