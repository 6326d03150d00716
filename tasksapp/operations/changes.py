"""Changes: what an operation's verb does to the jobs of a page, in one UPDATE, and their timers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from delayhub.clock import moment
from tasksapp.access.actors import Actor
from tasksapp.jobs import job_log
from tasksapp.jobs.called_off import cancel_resolved
from tasksapp.jobs.flow_order import keys_of, not_first, wake_keys
from tasksapp.jobs.verbs import Verb
from tasksapp.models import BizType, Job, Operation, Status
from tasksapp.operations.verbs import job_verb
from tasksapp.sql.make_live import make_live
from tasksapp.sql.time_of_each import time_of_each
from tasksapp.timers.arming import forget, move
from tasksapp.timers.timer import Timer

#: Timers of redriven jobs have the last priority, so that fresh jobs go before them.
LAST_STEP = 9


class FoundJob(NamedTuple):
    """A job that a page has found and locked."""

    id: UUID
    priority: int
    flow_key: str = ""
    biz_id: str = ""
    traceparent: str = ""


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
    verb = job_verb(operation.verb)
    if verb is Verb.RUN_NOW and biz_type.is_ordered:
        waiting = not_first([job.id for job in found], using=using)
        found = [job for job in found if job.id not in waiting]
    if not found:
        return 0
    starts = {job.id: moment(int(at)) for job, at in zip(found, times, strict=False)}
    values = {
        **verb.values(now=now, due=now if verb is Verb.RESCHEDULE else None, by=Actor.of_operation(operation.pk)),
        "operation_id": operation.pk,
    }
    if starts:
        every = set(starts.values())
        at = every.pop() if len(every) == 1 else time_of_each(starts, using=using)
        values["next_run_at"] = at
        if verb is Verb.RESCHEDULE:
            values["due_at"] = at
    ids = [job.id for job in found]
    if verb is Verb.REDRIVE and biz_type.one_live != BizType.OneLive.ANY:
        taken = set(make_live(ids, values, using=using))
        found = [job for job in found if job.id in taken]
        changed = len(taken)
    else:
        changed = Job.objects.using(using).filter(id__in=ids).update(**values)
    _follow(verb, starts, found, biz_type, now=now, using=using)
    by = Actor.of_operation(operation.pk)

    def log() -> None:
        job_log.note_verb(verb.word, found, biz_type, by=by)

    transaction.on_commit(log, using=using, robust=True)
    return changed


def _follow(
    verb: Verb,
    starts: Mapping[UUID, datetime],
    found: Sequence[FoundJob],
    biz_type: BizType,
    *,
    now: datetime,
    using: str,
) -> None:
    """Lets the timers follow once the change is committed; a failure is left to the loader."""
    if verb.source == Status.DEAD and verb.transition.target != Status.PENDING and not biz_type.is_ordered:
        return  # dropped jobs had no timers
    last = verb is Verb.REDRIVE
    timers = [
        Timer(
            biz_type.timer_lane,
            biz_type.queue,
            job.id,
            starts.get(job.id, now),
            LAST_STEP if last else job.priority,
            job.flow_key,
        )
        for job in found
    ]

    # A function, not a partial: Django names a hook that fails by its __qualname__.
    def follow_rows() -> None:
        if last:
            keyed = Job.objects.using(using).filter(id__in=[job.id for job in found]).exclude(biz_id="")
            cancel_resolved(list(keyed.only("biz_type_id", "biz_id", "created_at", "created_by")), using=using)
        # Jobs in order need no timer before their turn; some may be from a time when there was no order.
        keys = keys_of([job.id for job in found], using=using) if biz_type.is_ordered else {}
        if verb.transition.target == Status.PENDING:
            move([timer for timer in timers if timer.job_id not in keys])
        else:
            forget(timers)
        if keys:
            wake_keys(set(keys.values()), using=using)

    transaction.on_commit(follow_rows, using=using, robust=True)
