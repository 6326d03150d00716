"""Series that tasks declare by ``@delayed_task(cron=…)`` or ``every=``, brought in step with what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple, Protocol

from django.db import router

from delayhub.celery_support.delayed_task import CARRIED_BY_SERIES
from delayhub.celery_support.job_arguments import encoded
from delayhub.celery_support.job_store import JobTask
from tasksapp.access.actors import Actor
from tasksapp.errors import NameTaken
from tasksapp.models import Series
from tasksapp.series import verbs
from tasksapp.series.fields import RULES
from tasksapp.task_backends.task_biz_type import biz_type_of_task

#: A series has a name of so many characters at most; it is the end of a task's name that tells it from others.
NAME_LENGTH = 100
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
    stored = {row.declared_by: row for row in Series.objects.using(using).exclude(declared_by="").order_by("id")}
    steps = []
    for task in sorted(tasks, key=lambda each: each.name):
        if task.job_series is None or task.is_alias:
            continue
        found = [stored.pop(name) for name in (task.name, *task.aliases) if name in stored]
        steps.append(_brought_in_step(task, found, dry_run=dry_run, by=by, using=using))
    for name, row in stored.items():
        if not dry_run:
            verbs.delete(row.pk, by=by, using=using)
        steps.append(Step("delete", name))
    return steps


def _brought_in_step(task: RepeatingTask, found: list[Series], *, dry_run: bool, by: Actor | None, using: str) -> Step:
    fields = _fields_of(task)
    if not found:
        if not dry_run:
            biz_type = biz_type_of_task(task, using=using)
            try:
                verbs.create(biz_type.code, tenant=task.job_tenant, declared_by=task.name, by=by, using=using, **fields)
            except NameTaken:
                return Step("same", task.name)  # another deploy has just made it
        return Step("create", task.name)
    row, *others = found
    for other in others:
        if not dry_run:
            verbs.delete(other.pk, by=by, using=using)
    is_same = all(getattr(row, name) == value for name, value in fields.items() if name != "body")
    if is_same and row.declared_by == task.name:
        return Step("same", task.name)
    if not dry_run:
        verbs.change(row.pk, by=by, using=using, **fields)
        Series.objects.using(using).filter(pk=row.pk).update(declared_by=task.name)
    return Step("change", task.name)


def _fields_of(task: RepeatingTask) -> dict[str, Any]:
    given = {**_UNSAID, **(task.job_series or {})}
    every = given["every"]
    if every is not None and not isinstance(every, timedelta):
        given["every"] = timedelta(seconds=every)
    return {
        **given,
        "name": task.name[-NAME_LENGTH:],
        "body": encoded((), {}),
        "max_attempts": task.job_max_attempts,
    }
