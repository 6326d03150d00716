"""Ordered flow keys: the timer of the first job of each is set when another one is over, and no job goes before it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import Error, transaction
from django.utils import timezone

from tasksapp.errors import NotFirst
from tasksapp.extending.claim_rules import ClaimHook
from tasksapp.extending.outcome_hooks import OutcomeHook, Outcomes
from tasksapp.models import BizType, Job
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.sql.occurrences import NewOccurrence
from tasksapp.sql.ordered_keys import Key, first_jobs_of, keys_in_order, placed
from tasksapp.sql.pending_rows import PendingRow, pages
from tasksapp.timers.arming import arm, wake
from tasksapp.timers.timer import Timer, grouped

logger = logging.getLogger(__name__)


def is_in_order(job: Job) -> bool:
    """Whether the job waits for those of its flow key that come before it."""
    return job.place is not None and job.biz_type.is_ordered


def arm_keys(keys: Collection[Key], *, using: str) -> bool:
    """Sets the timers of the first jobs of flow keys into which new jobs came, unless they are set.

    All others need none until their turn comes. False where Redis or the database did not answer: the loader does it
    then.
    """
    timers = _first_timers(keys, using=using)
    return timers is not None and arm(grouped(timers))


def wake_keys(keys: Collection[Key], *, using: str) -> bool:
    """Puts the timers of the first jobs of the flow keys to their times, where another one is over or was moved.

    Also one that a claim holds which found the job not to be the first yet. False as :func:`arm_keys` has it.
    """
    timers = _first_timers(keys, using=using)
    return timers is not None and wake(timers)


def _first_timers(keys: Collection[Key], *, using: str) -> list[Timer] | None:
    now = timezone.now()
    try:
        first = [job for job in first_jobs_of(keys, using=using) if job.needs_timer(now=now)]
        biz_types = BizType.objects.using(using).in_bulk({job.biz_type_id for job in first}) if first else {}
    except Error as error:
        logger.warning("the next jobs of %s flow keys wait for the loader: %s", len(keys), error)
        return None
    return [Timer.of(job, biz_types[job.biz_type_id]) for job in first if job.biz_type_id in biz_types]


def wake_keys_of(ids: Sequence[UUID], *, using: str) -> None:
    """The same for the flow keys of these jobs, as far as they are in order."""
    if keys := keys_of(ids, using=using):
        wake_keys(set(keys.values()), using=using)


def place_occurrences(
    rows: Sequence[NewOccurrence],
    biz_types: Mapping[int, BizType],
    *,
    delayed: bool = False,
    now: datetime,
    using: str,
) -> list[NewOccurrence]:
    """The new jobs of series with their places, in the caller's transaction.

    Once it is committed, the first of each key has a timer.

    Args:
        rows: the jobs, which are not stored yet.
        biz_types: theirs, by their ids.
        delayed: whether they count their time from now.
        now: the time.
        using: the database.
    """
    ordered = {biz_type.pk for biz_type in biz_types.values() if biz_type.is_ordered}
    jobs = [row.job for row in rows]
    ids = {job.id for job in jobs} if delayed else set()
    jobs = placed(jobs, ordered=ordered, delayed=ids, now=now, using=using)
    if keys := keys_in_order(jobs):
        # A function, not a partial: Django names a hook that fails by its __qualname__.
        def set_timers() -> None:
            arm_keys(keys, using=using)

        transaction.on_commit(set_timers, using=using, robust=True)
    return [row._replace(job=job) for row, job in zip(rows, jobs, strict=True)]


def keys_of(ids: Sequence[UUID], *, using: str) -> dict[UUID, Key]:
    """The flow keys of those of the jobs that are in order."""
    placed_jobs = Job.objects.using(using).filter(id__in=ids, place__isnull=False)
    ordered = placed_jobs.exclude(biz_type__ordered=BizType.Ordered.NO)
    return {job_id: (number, key) for job_id, number, key in ordered.values_list("id", "biz_type_id", "flow_key")}


def with_turn(
    biz_type: BizType, rows: Sequence[PendingRow], *, but_first: bool = False, using: str
) -> Sequence[PendingRow]:
    """Those of the biz type's pending rows that should have a timer: of a key in order, only its first job.

    ``but_first``: not even that one, where these are looked for by their keys.
    """
    if not biz_type.is_ordered:
        return rows
    keys = keys_of([row.id for row in rows if row.flow_key], using=using)
    waiting = keys.keys() if but_first else _not_first(keys, using=using)
    return [row for row in rows if row.id not in waiting]


def first_ones_overdue(biz_type: BizType, *, before: datetime, using: str) -> bool:
    """Whether jobs that wait for no other one of their flow key should have run before then; of the oldest thousand."""
    oldest = next(pages(biz_type.pk, after=None, until=before, using=using), [])
    return bool(with_turn(biz_type, oldest, using=using))


def refuse_not_first(job: Job, *, using: str) -> None:
    """Refuses what would have the job run before those that come first. Raises NotFirst."""
    if is_in_order(job):
        for first in first_jobs_of([(job.biz_type_id, job.flow_key)], using=using):
            if first.id != job.id:
                raise NotFirst(job.id, first.id)


def not_first(ids: Sequence[UUID], *, using: str) -> set[UUID]:
    """Those of the jobs that wait for another one of their flow key."""
    return _not_first(keys_of(ids, using=using), using=using)


def _not_first(keys: Mapping[UUID, Key], *, using: str) -> set[UUID]:
    first = {job.key: job.id for job in first_jobs_of(set(keys.values()), using=using)}
    return {job_id for job_id, key in keys.items() if first.get(key, job_id) != job_id}


def _wake_after_claim(answer: ClaimAnswer, using: str) -> None:
    # After the claim: a job that has become the first in the meantime was woken before its timer was used up by it.
    if answer.blocked or answer.ended:
        wake_keys_of([*answer.blocked, *answer.ended], using=using)


def _wake_after_outcome(outcomes: Outcomes) -> None:
    # Also if a retry is to follow: the row may have become cancelled, and then it is the next one's turn.
    if keys := keys_in_order(one.job.row for one in outcomes.kept):
        wake_keys(keys, using=outcomes.using)


WAKES_AFTER_CLAIM = ClaimHook(rank=10, after=_wake_after_claim)
WAKES_AFTER_OUTCOME = OutcomeHook(rank=10, follow=_wake_after_outcome)
