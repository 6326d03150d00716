"""SeriesMaker: makes the jobs of series shortly before they are due."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connections, transaction
from django.db.models import F, QuerySet

from delayhub.clock import Clock, now_by
from tasksapp.access.quotas import no_more_jobs
from tasksapp.errors import InvalidSeries
from tasksapp.jobs.flow_order import place_occurrences, wake_keys
from tasksapp.models import BizType, Job, NewJob, Series
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.job_id import new_job_ids
from tasksapp.models.new_job import sealed_job
from tasksapp.series.fields import CONTENT
from tasksapp.series.plan import INVALID_WAIT, MOST, Outage, Plan, outage, plan
from tasksapp.sql.occurrences import (
    Advance,
    NewOccurrence,
    Touched,
    advance_series,
    delete_unclaimed,
    insert_occurrences,
    redate_unclaimed,
    rewrite_unclaimed,
    unclaimed,
)
from tasksapp.sql.ordered_keys import Key
from tasksapp.sql.series_overlap import release_series, series_with_ended_jobs
from tasksapp.timers.arming import arm, forget, move
from tasksapp.timers.timer import Groups, Timer, grouped

logger = logging.getLogger(__name__)

#: Jobs that one turn makes, and those of one transaction; series that one transaction locks.
TURN_JOBS, STEP_JOBS, STEP_SERIES = 2_000, 500, 100
#: A turn begins no further transaction after so long: the loader's turn, which other timers may wait for, is next.
TURN_SECONDS = 0.5
#: How often live jobs are looked for that have ended without a word, and how many series that frees at once.
RELEASE_SECONDS, RELEASE_SERIES = 5.0, 200


class Turn(NamedTuple):
    """What a turn did: how many jobs it made, and whether there are more to make at once."""

    made: int
    has_more: bool


@dataclass(slots=True)
class _Step:
    """What one transaction makes."""

    rows: list[NewOccurrence] = field(default_factory=list)
    gone: list[Timer] = field(default_factory=list)
    moved: list[Timer] = field(default_factory=list)
    woken: set[Key] = field(default_factory=set)
    advances: list[Advance] = field(default_factory=list)


class SeriesMaker:
    """Makes occurrences. Several may work at once, in any worker: each locks the series that it works on.

    Args:
        using: the database.
        clock: Redis' time.
    """

    def __init__(self, *, using: str, clock: Clock) -> None:
        self._using = using
        self._clock = clock
        self._release_at = 0.0

    def run_once(self, *, has_due: bool = True, has_live: bool = True) -> Turn:
        """One turn. Raises what the database raises when it does not answer.

        Args:
            has_due: False where it is known that no series waits.
            has_live: False where it is known that none has a live job.
        """
        if has_live and self._clock.monotonic() >= self._release_at:
            self._release_at = self._clock.monotonic() + RELEASE_SECONDS
            self._release()
        if not has_due:
            return Turn(0, has_more=False)
        made, steps, end = 0, 0, self._clock.monotonic() + TURN_SECONDS
        # Counted by steps: those for series of a tenant that gets no more jobs take their time and make none.
        while made < TURN_JOBS and (not steps or self._clock.monotonic() < end):
            now = now_by(self._clock)
            step = self._step(now, most=min(STEP_JOBS, TURN_JOBS - made))
            if step is None:
                return Turn(made, has_more=False)
            steps, made = steps + 1, made + len(step.rows)
        return Turn(made, has_more=True)

    def _step(self, now: datetime, *, most: int) -> _Step | None:
        """One transaction; None where no series waits that is not another's at this moment."""
        # None of a closed one: nothing is made of it, so it would be the first at each step.
        waiting = Series.objects.using(self._using).filter(make_at__lte=now)
        waiting = waiting.filter(biz_type__enabled=True, biz_type__moved_to="").order_by("make_at", "id")
        if not waiting.exists():
            return None  # mostly so: one statement, not the three of a transaction, for which SQLite locks all
        with transaction.atomic(using=self._using):
            lock_for_writing(using=self._using)
            found = list(waiting.select_for_update(skip_locked=True, no_key=True, of=("self",))[:STEP_SERIES])
            if not found:
                return None
            return make(found, now=now, most=most, using=self._using)

    def _release(self) -> None:
        """Frees series whose live job ended without an outcome, such as by a person's cancel."""
        ended = series_with_ended_jobs(limit=RELEASE_SERIES, using=self._using)
        woken = release_series(ended, now=now_by(self._clock), using=self._using) if ended else []
        if woken:
            move([Timer.of(job, job.biz_type) for job in woken])


def lock_for_writing(*, using: str) -> None:
    """Has the caller's transaction begin by writing where it cannot lock rows.

    SQLite refuses a transaction that has read and comes to write, without waiting.
    """
    if not connections[using].features.has_select_for_update:
        Series.objects.using(using).filter(id=0).update(made=F("made"))


def make(found: Sequence[Series], *, now: datetime, most: int = MOST, using: str) -> _Step:
    """Makes what is to be made of these series, which the caller has locked; their timers follow on commit.

    Args:
        found: the series, whose time to be looked at has come.
        now: Redis' time.
        most: jobs that are made at most; series that are left over keep their time.
        using: the database.
    """
    rows_of_types = BizType.objects.using(using).select_related("tenant__counted")
    biz_types = rows_of_types.in_bulk({series.biz_type_id for series in found})
    step = _Step()
    for series in found:
        if len(step.rows) >= most:
            break
        _add(step, series, biz_types[series.biz_type_id], now=now, most=most - len(step.rows), using=using)
    _leave_out_existing(step, using=using)
    rows = place_occurrences(step.rows, biz_types, now=now, using=using)
    if rows:
        insert_occurrences(rows, now=now, using=using)
    advance_series(step.advances, using=using)
    added, gone, moved, woken = timers_of(rows, biz_types), step.gone, step.moved, step.woken

    # A function, not a partial: Django names a hook that fails by its __qualname__.
    def set_timers() -> None:
        arm(added)
        if gone:
            forget(gone)
        if moved:
            move(moved)
        if woken:
            wake_keys(woken, using=using)

    transaction.on_commit(set_timers, using=using, robust=True)
    return step


def _add(step: _Step, series: Series, biz_type: BizType, *, now: datetime, most: int, using: str) -> None:
    """Adds what is made of one series."""
    if biz_type.is_closed:
        return  # once it is open, the time since then is an outage
    if no_more_jobs(biz_type.tenant) is not None:
        # The same: what it missed is made or not as after an outage.
        step.advances.append(Advance(series.pk, 0, series.next_occurrence_at, now + INVALID_WAIT))
        return
    dropped = 0
    try:
        if (ended := outage(series, now=now)) is not None:
            dropped = _after(ended, step, series, biz_type, now=now, using=using)
            series.made = max(0, series.made - dropped)
        planned = plan(series, now=now, most=min(MOST, most))
        rows = rows_of(series, biz_type, planned)
    except (InvalidSeries, SecretUnreadable) as error:
        # Such as a time zone that this machine's data no longer have, or a key that is gone: the others go on.
        logger.warning("series %s stands still: %s", series.pk, error, extra={"action": "series"})
        step.advances.append(Advance(series.pk, -dropped, series.next_occurrence_at, now + INVALID_WAIT))
        return
    step.rows += rows
    made = len(planned.occurrences) - dropped
    step.advances.append(Advance(series.pk, made, planned.next_occurrence_at, planned.make_at))


def _after(ended: Outage, step: _Step, series: Series, biz_type: BizType, *, now: datetime, using: str) -> int:
    """Deletes or moves the occurrences that the outage made late and no worker has taken; how many it deletes."""
    late = unclaimed([series.pk], using=using)
    late = late.filter(occurrence_at__lte=now, next_run_at__lte=now, due_at__gte=ended.since)
    lane, queue = biz_type.timer_lane, biz_type.queue
    gone: Sequence[Touched] = ()
    if ended.drops_before is not None:
        # What an operation made is what a person asked for, whatever the outage.
        gone = delete_unclaimed(late.filter(occurrence_at__lt=ended.drops_before, operation_id=None))
        step.gone += [Timer(lane, queue, one.id, now, one.priority, one.flow_key) for one in gone]
    # Due now, as those that were not made yet, so that no rule about lateness ends them.
    kept = redate_unclaimed(late, now=now)
    # Of those in order only the first of a key needs a timer: it gets one when the key wakes.
    free = kept if not biz_type.is_ordered else [one for one in kept if one.place is None]
    step.moved += [Timer(lane, queue, one.id, now, one.priority, one.flow_key) for one in free]
    if biz_type.is_ordered:
        step.woken |= {(biz_type.pk, one.flow_key) for one in (*gone, *kept) if one.place is not None}
    return len(gone)


def rows_of(series: Series, biz_type: BizType, planned: Plan) -> list[NewOccurrence]:
    """The jobs of the planned occurrences."""
    ids = new_job_ids(len(planned.occurrences))
    return [
        NewOccurrence(new_job(series, biz_type, job_id=job_id, due_at=each.due_at), series.pk, each.at)
        for job_id, each in zip(ids, planned.occurrences, strict=True)
    ]


def new_job(series: Series, biz_type: BizType, *, job_id: UUID, due_at: datetime) -> NewJob:
    """A job of the series, as it is stored. Raises SecretUnreadable."""
    carried = {name: getattr(series, name) for name in CONTENT}
    carried["priority"] = biz_type.priority if series.priority is None else series.priority
    carried["raw"] = None if series.raw is None else bytes(series.raw)
    job = NewJob(id=job_id, biz_type_id=biz_type.pk, due_at=due_at, **carried)
    return sealed_job(job) if biz_type.encrypted or series.is_sealed else job


def rewrite(rows: QuerySet[Job], ids: Sequence[UUID], series: Series, *, now: datetime) -> None:
    """Gives those rows of ``unclaimed`` the content of the series; what is encrypted, each for itself."""
    for job_id in ids if series.is_sealed else ids[:1]:
        job = new_job(series, series.biz_type, job_id=job_id, due_at=now)
        content = {name: getattr(job, name) for name in CONTENT}
        rewrite_unclaimed(rows.filter(id=job_id) if series.is_sealed else rows, now=now, **content)


def timers_of(rows: Sequence[NewOccurrence], biz_types: Mapping[int, BizType]) -> Groups:
    """The timers of the new jobs; those in order get theirs when their keys wake."""
    found = [(row.job, biz_types[row.job.biz_type_id]) for row in rows if row.job.place is None]
    return grouped(
        Timer(biz_type.timer_lane, biz_type.queue, job.id, job.due_at, job.priority, job.flow_key)
        for job, biz_type in found
    )


def _leave_out_existing(step: _Step, *, using: str) -> None:
    """Leaves out occurrences that have a row, such as those that workers had taken before the schedule was edited."""
    if not step.rows:
        return
    wanted = {(row.series_id, row.occurrence_at) for row in step.rows}
    first = min(row.occurrence_at for row in step.rows if row.occurrence_at is not None)
    rows = Job.objects.using(using).filter(series_id__in={row.series_id for row in step.rows}, occurrence_at__gte=first)
    there = wanted & set(rows.values_list("series_id", "occurrence_at"))
    if there:
        step.rows = [row for row in step.rows if (row.series_id, row.occurrence_at) not in there]
