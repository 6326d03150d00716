"""Series that tasks declare by ``@delayed_task(cron=…)`` or ``every=``, and how what is stored is brought in step."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from celery import current_app
from celery.signals import worker_ready
from django.apps import AppConfig
from django.core import checks
from django.core.checks import CheckMessage
from django.db import DatabaseError, InterfaceError, router, transaction

from delayhub.celery_support.delayed_task import CARRIED_BY_SERIES, DelayedTask
from delayhub.celery_support.job_arguments import encoded
from delayhub.celery_support.job_store import JobTask
from tasksapp.access.actors import Actor
from tasksapp.errors import JobError, NameTaken, SeriesNotFound
from tasksapp.models import Series
from tasksapp.series import verbs
from tasksapp.series.fields import RULES
from tasksapp.task_backends.task_biz_type import biz_type_of_task
from tasksapp.workers.biz_type_report import is_biz_type_of

logger = logging.getLogger(__name__)

#: A series has a name of so many characters at most; it is the end of a task's name that tells it from others.
NAME_LENGTH = 100
#: Tasks that one sentence names.
MOST_NAMED = 5
_COMMAND = "run `manage.py sync_series` at each deploy"
#: What a declaration says, with what holds where it says nothing.
_UNSAID: dict[str, Any] = {
    "cron": "", "time_zone": "UTC", "every": None, "overlap": "start", "catch_up": "latest",
    **{name: RULES[name](None) for name in CARRIED_BY_SERIES},
}  # fmt: skip


class RepeatingTask(JobTask, Protocol):
    """A task that says when it repeats."""

    job_series: Mapping[str, Any] | None
    is_alias: bool


class Step(NamedTuple):
    """What was done, or would be, about the series of a task: ``create``, ``change``, ``delete`` or ``same``."""

    action: str
    task: str


def sync(tasks: Iterable[RepeatingTask], *, dry_run: bool = False, by: Actor | None = None) -> list[Step]:
    """What was done to have one series for each task that declares one, and none for those that do no more.

    A series that a person has paused stays paused. Several deploys at once make no second one.

    Args:
        tasks: all tasks of the project.
        dry_run: whether nothing is stored.
        by: who does it, for the audit.

    Raises InvalidSeries where a declaration cannot be, and InvalidJob where the biz type runs another task.
    """
    using = router.db_for_write(Series)
    rows = Series.objects.using(using).exclude(declared_by="").select_related("biz_type__tenant")
    stored = {row.declared_by: row for row in rows.order_by("id")}
    steps = []
    for task in sorted(tasks, key=lambda each: each.name):
        if task.job_series is None or task.is_alias:
            continue
        found = [stored.pop(name) for name in (task.name, *task.aliases) if name in stored]
        try:
            steps.append(_brought_in_step(task, found, dry_run=dry_run, by=by, using=using))
        except SeriesNotFound:
            steps.append(Step("same", task.name))  # another deploy has just brought it in step
    for name, row in stored.items():
        if not dry_run:
            _delete(row, by=by, using=using)
        steps.append(Step("delete", name))
    return steps


def _brought_in_step(task: RepeatingTask, found: list[Series], *, dry_run: bool, by: Actor | None, using: str) -> Step:
    fields = _fields_of(task)
    if not found:
        if not dry_run:
            try:
                _make(task, fields, by=by, using=using)
            except NameTaken:
                return Step("same", task.name)  # another deploy has just made it
        return Step("create", task.name)
    row, *others = found
    for other in others:
        if not dry_run:
            _delete(other, by=by, using=using)
    if not is_biz_type_of(task, row.biz_type):
        if not dry_run:
            _move(row, task, fields, by=by, using=using)
        return Step("change", task.name)
    is_same = all(getattr(row, name) == value for name, value in fields.items() if name != "body")
    if is_same and row.declared_by == task.name:
        return Step("same", task.name)
    if not dry_run:
        verbs.change(row.pk, by=by, using=using, **fields)
        Series.objects.using(using).filter(pk=row.pk).update(declared_by=task.name)
    return Step("change", task.name)


def _make(task: RepeatingTask, fields: Mapping[str, Any], *, by: Actor | None, using: str) -> Series:
    biz_type = biz_type_of_task(task, using=using)
    return verbs.create(biz_type.code, tenant=task.job_tenant, declared_by=task.name, by=by, using=using, **fields)


def _delete(row: Series, *, by: Actor | None, using: str) -> None:
    with suppress(SeriesNotFound):  # another deploy has just deleted it
        verbs.delete(row.pk, by=by, using=using)


def _move(row: Series, task: RepeatingTask, fields: Mapping[str, Any], *, by: Actor | None, using: str) -> None:
    """Deletes the series and creates it in the biz type that its task names now; a paused one stays paused."""
    with transaction.atomic(using=using):
        verbs.delete(row.pk, by=by, using=using)
        made = _make(task, fields, by=by, using=using)
        if row.is_paused:
            verbs.pause(made.pk, reason=row.pause_reason, by=by, using=using)


def _fields_of(task: RepeatingTask) -> dict[str, Any]:
    given = {**_UNSAID, **(task.job_series or {})}
    return {
        **given,
        "every": RULES["every"](given["every"]),
        "name": task.name[-NAME_LENGTH:],
        "body": encoded((), {}),
        "max_attempts": task.job_max_attempts,
    }


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


@worker_ready.connect(dispatch_uid="tasksapp.task_backends.declared_series")
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
    "change": "tasks declare series that are stored with another schedule or biz type, and go on so: %s",
    "delete": "series are stored that no task declares any more, and they go on: %s",
}
