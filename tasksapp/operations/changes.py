"""Changes: what an operation's verb does to the jobs of a page, in one UPDATE, and their timers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Case, DateTimeField, Value, When

from delayhub.clock import moment
from tasksapp.access.actors import Actor
from tasksapp.jobs.verbs import Verb
from tasksapp.models import BizType, Job, Operation, Status
from tasksapp.operations.pages import FoundJob
from tasksapp.operations.verbs import job_verb
from tasksapp.timers.arming import forget, move
from tasksapp.timers.timer import Timer

#: Timers of redriven jobs come last among those of the same millisecond.
LAST_STEP = 9
#: Jobs of a page start at so many different times at most: each is a branch of the statement.
MOST_TIMES = 100


def change(
    operation: Operation,
    found: Sequence[FoundJob],
    biz_type: BizType,
    *,
    times: Sequence[float],
    now: datetime,
    using: str,
) -> int:
    """How many of the jobs were changed. The caller has locked them, and has the transaction open.

    Args:
        operation: its verb, and its number, which the jobs keep.
        found: the jobs, in their order.
        biz_type: their biz type.
        times: when each is to start, in Unix ms; empty where the verb says no time.
        now: the time.
        using: the database.
    """
    if not found:
        return 0
    verb = job_verb(operation.verb)
    starts = _starts(found, times)
    values = {
        **verb.values(now=now, due=now if verb is Verb.RESCHEDULE else None, by=Actor.of_operation(operation.pk)),
        "operation_id": operation.pk,
    }
    if starts:
        at = _expression(starts)
        values["next_run_at"] = at
        if verb is Verb.RESCHEDULE:
            values["due_at"] = at
    rows = Job.objects.using(using).filter(id__in=[job.id for job in found])
    changed = rows.update(**values)
    _follow(verb, starts, found, biz_type, now=now, using=using)
    return changed


def _starts(found: Sequence[FoundJob], times: Sequence[float]) -> list[tuple[datetime, list[FoundJob]]]:
    """Which jobs start when; neighbours share a time where there are too many."""
    if not times:
        return []
    size = -(-len(found) // MOST_TIMES)
    if times[0] == times[len(found) - 1]:
        size = len(found)
    return [(moment(int(times[begin])), list(found[begin : begin + size])) for begin in range(0, len(found), size)]


def _expression(starts: Sequence[tuple[datetime, list[FoundJob]]]) -> Any:
    if len(starts) == 1:
        return starts[0][0]
    field = DateTimeField()
    branches = [When(id__in=[job.id for job in jobs], then=Value(at, output_field=field)) for at, jobs in starts]
    return Case(*branches, output_field=field)


def _follow(
    verb: Verb,
    starts: Sequence[tuple[datetime, list[FoundJob]]],
    found: Sequence[FoundJob],
    biz_type: BizType,
    *,
    now: datetime,
    using: str,
) -> None:
    """Lets the timers follow once the change is committed; a failure is left to the loader."""
    if verb.source == Status.DEAD and verb.transition.target != Status.PENDING:
        return  # dropped jobs had no timers
    last = verb is Verb.REDRIVE
    timers = [
        Timer(biz_type.timer_lane, biz_type.queue, job.id, at, LAST_STEP if last else job.priority)
        for at, jobs in starts or [(now, list(found))]
        for job in jobs
    ]

    # A function, not a partial: Django names a hook that fails by its __qualname__.
    def follow_rows() -> None:
        if verb.transition.target == Status.PENDING:
            move(timers)
        else:
            forget(timers)

    transaction.on_commit(follow_rows, using=using, robust=True)
