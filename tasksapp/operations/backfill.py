"""Backfill: an operation that makes the occurrences of a series that lie in the past and have no job.

They are counted first and made at a pace, as the jobs of other operations are counted and changed. Each is due when it
is made, so that no rule about lateness ends it; which one it is, its occurrence says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db import router, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from delayhub.clock import moment
from tasksapp.access.actors import Actor
from tasksapp.access.quotas import no_more_jobs
from tasksapp.errors import InvalidJob, InvalidSeries
from tasksapp.jobs.flow_order import place_occurrences
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import LIVE, BizType, Job, Operation, Series
from tasksapp.models.conflicts import repeated
from tasksapp.models.job_id import new_job_ids
from tasksapp.operations.cursor import Ages, Place, Walk
from tasksapp.operations.feed import Allowance
from tasksapp.operations.pages import Counted, JobPages, Locked, Pages
from tasksapp.operations.starter import Starter
from tasksapp.operations.verbs import BACKFILL, plan
from tasksapp.series.fields import SCHEDULE
from tasksapp.series.lookup import find
from tasksapp.series.maker import lock_for_writing, new_job, timers_of
from tasksapp.series.plan import schedule_of
from tasksapp.sql.occurrences import NewOccurrence, insert_occurrences
from tasksapp.timers.arming import arm

#: Occurrences that a page looks at.
LOOKED_AT = 5_000
#: The smallest step of time that databases keep.
_TICK = timedelta(microseconds=1)


@repeated
def plan_backfill(
    series_id: int,
    *,
    since: datetime,
    until: datetime | None = None,
    by: Starter,
    seen_by: object = None,
    reason: str = "",
    using: str | None = None,
) -> Operation:
    """A new operation that will make the occurrences from ``since`` on and before ``until`` that have no job.

    It makes nothing before it is started.

    Args:
        series_id: the number of the series.
        since: the first occurrence may be then.
        until: the last one comes before; None: now.
        by: who plans it.
        seen_by: the caller of the API, who must see the series.
        reason: why, for the record.
        using: the database.

    Raises SeriesNotFound, and InvalidJob where there can be no occurrences in that time.
    """
    using = using or router.db_for_write(Job)
    series, now = find(series_id, seen_by=seen_by, using=using), timezone.now()
    until = now if until is None else until
    for name, given in (("since", since), ("until", until)):
        if not isinstance(given, datetime) or given.tzinfo is None:
            raise InvalidJob(name, "invalid", _("%(name)s must be a time with a zone") % {"name": name})
    if since >= now:
        raise InvalidJob("since", "future", _("since must be before now: what comes is made by the series"))
    if until > now:
        raise InvalidJob("until", "future", _("until may not be later than now: what comes is made by the series"))
    if until <= since:
        raise InvalidJob("until", "too_early", _("until must be later than since"))
    wanted = JobFilter(series=series.pk, occurrence_from=since, occurrence_until=until)
    return plan(BACKFILL, wanted, by=by, seen_by=seen_by, reason=reason, using=using)


def pages_of(operation: Operation, *, biz_type_id: int, using: str) -> Pages[Any]:
    """What the operation walks over, of one biz type: occurrences that it makes, or jobs that it changes."""
    if operation.verb == BACKFILL:
        return Backfill(operation, using=using)
    return JobPages(operation, biz_type_id=biz_type_id, using=using)


class Backfill(Pages[datetime]):
    """The occurrences that an operation is to make, in order.

    Args:
        operation: its filter names the series, and from when to when.
        using: the database.
    """

    #: From the beginning another pass would make again what was made, has ended and was deleted by its retention.
    passes_over = False

    def __init__(self, operation: Operation, *, using: str) -> None:
        wanted = JobFilter.parse(operation.job_filter)
        self._operation, self._using = operation, using
        self._series_id = wanted.series or 0
        self._since, self._until = wanted.occurrence_from, wanted.occurrence_until

    def count(self, walk: Walk, *, rows: int, max_age: timedelta | None = None) -> Counted:
        """How many occurrences of the next page have no job; what is made has a new age."""
        del max_age
        series = Series.objects.using(self._using).filter(id=self._series_id).first()
        found = self._missing(series, walk.after, most=rows, rows=rows)
        return Counted(len(found.jobs), found.after, found.is_last, Ages(None, None, 0))

    def lock(self, walk: Walk, *, most: int, rows: int) -> Locked[datetime]:
        """The occurrences of the next page that have no job. No one else makes any of them before this commits."""
        lock_for_writing(using=self._using)
        series = Series.objects.using(self._using).select_for_update(no_key=True).filter(id=self._series_id).first()
        return self._missing(series, walk.after, most=most, rows=rows)

    def change(self, found: Sequence[datetime], biz_type: BizType, *, times: Sequence[float], now: datetime) -> int:
        """How many jobs were made, one for each of the occurrences."""
        if not found:
            return 0
        series = Series.objects.using(self._using).get(id=self._series_id)
        due = [moment(int(at)) for at in times] or [now] * len(found)
        rows = [
            NewOccurrence(new_job(series, biz_type, job_id=job_id, due_at=due_at), series.pk, at)
            for job_id, due_at, at in zip(new_job_ids(len(found)), due, found, strict=True)
        ]
        by = Actor.of_operation(self._operation.pk)
        biz_types = {biz_type.pk: biz_type}
        rows = place_occurrences(rows, biz_types, now=now, using=self._using)
        insert_occurrences(rows, now=now, created_by=by.name, using=self._using)
        made = Job.objects.using(self._using).filter(id__in=[row.job.id for row in rows])
        made.update(operation_id=self._operation.pk)
        timers = timers_of(rows, biz_types)

        def set_timers() -> None:
            arm(timers)

        transaction.on_commit(set_timers, using=self._using, robust=True)
        return len(rows)

    def _missing(self, series: Series | None, after: Place, *, most: int, rows: int) -> Locked[datetime]:
        if series is None or self._since is None or self._until is None:
            return Locked([], None, is_last=True)
        begin = self._since - _TICK if after is None else datetime.fromisoformat(after[0])
        rows = min(rows, LOOKED_AT)
        looked = list(islice(schedule_of(series).after(begin), rows))
        inside = [at for at in looked if at < self._until]
        there = set(
            Job.objects.using(self._using)
            .filter(series_id=series.pk, occurrence_at__gte=begin, occurrence_at__lt=self._until)
            .filter(occurrence_at__lte=inside[-1] if inside else begin)
            .values_list("occurrence_at", flat=True)
        )
        found = [at for at in inside if at not in there]
        if len(found) > most:
            found = found[:most]
            return Locked(found, [found[-1].isoformat()], is_last=False)
        is_last = len(looked) < rows or len(inside) < len(looked)
        return Locked(found, [looked[-1].isoformat()] if looked else after, is_last)


def schedule_mark(operation: Operation, *, using: str) -> str:
    """What is another text once the schedule of an operation's series is another; '' where there is no series."""
    wanted = JobFilter.parse(operation.job_filter)
    series = Series.objects.using(using).filter(id=wanted.series or 0).first()
    if series is None:
        return ""
    try:
        schedule_of(series)
    except InvalidSeries:
        return ""
    # Jitter moves no occurrence, and what the end of the series is counted by has nothing to do with its past.
    names = [name for name in SCHEDULE if name not in {"jitter", "count"}]
    text = json.dumps([getattr(series, name) for name in names], default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def lost_series(operation: Operation, *, mark: str, using: str) -> str:
    """Why a backfill may not go on; '' where its series is what it was when it was planned.

    Args:
        operation: the operation.
        mark: :func:`schedule_mark` of that time.
        using: the database.
    """
    now = schedule_mark(operation, using=using)
    if not now:
        return "its series was deleted, or has no times any more"
    return "" if now == mark else "the schedule of its series was changed after the count"


def paced(operation: Operation, allowed: Allowance, *, using: str) -> Allowance:
    """What is allowed beside the tenant's quota, and where jobs of the series may not overlap: one after the other.

    Args:
        operation: the operation.
        allowed: what its pace allows.
        using: the database.
    """
    wanted = JobFilter.parse(operation.job_filter)
    series = (
        Series.objects.using(using).select_related("biz_type__tenant__counted").filter(id=wanted.series or 0).first()
    )
    if series is not None and no_more_jobs(series.biz_type.tenant) is not None:
        return Allowance(0, waits={"why": "quota"})
    if series is None or series.overlap == Series.Overlap.START:
        return allowed
    mine = Job.objects.using(using).filter(operation_id=operation.pk).order_by("-id")
    last = mine.values_list("status", flat=True).first()
    if series.live_job is not None or last in LIVE:
        return Allowance(0, waits={"why": "overlap", "series": series.name})
    return replace(allowed, jobs=min(1, allowed.jobs))
