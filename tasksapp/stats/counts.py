"""How many jobs there are: as the loader counted them last, or counted here, no further than ``FARTHEST``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, DateTimeField, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.utils import timezone

from tasksapp.models import BizType, Job, JobCount, Status
from tasksapp.models.sealed_value import MARK

#: No count that a page makes goes further: it stays fast however many jobs there are.
FARTHEST = 10_000
#: How long is counted what biz types have that is not encrypted.
PLAIN_SECONDS = 0.5
#: Where a page counts the jobs of every biz type, that is for all of them together; for each it goes at least so far.
LEAST_EACH = 100
#: Biz types that are thought of where the loader has never counted.
USUAL_BIZ_TYPES = 10
#: Counts of the loader that are older than this are not shown; the page then counts, bounded.
STALE = timedelta(seconds=60)


class BizTypeCounts(NamedTuple):
    """The live and dead jobs of a biz type, or of several.

    Args:
        pending: jobs that wait.
        due_now: those of them whose time has come.
        running: jobs that a worker has.
        dead: jobs that were given up.
        oldest_due_at: when the first of the pending ones is, or was, to run.
        next_due_at: when the first of those is to run whose time has not come.
    """

    pending: int = 0
    due_now: int = 0
    running: int = 0
    dead: int = 0
    oldest_due_at: datetime | None = None
    next_due_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """The jobs of all biz types at one moment.

    Args:
        as_of: that moment; every number is exact then, unless there is a ``bound``.
        by_biz_type: by the id of the biz type; one that is newer than the count is not in it.
        bound: where the numbers of each biz type ended, but for those that run, so that this one and greater ones mean
            "at least", since there was no fresh count; None where all are exact.
    """

    as_of: datetime | None
    by_biz_type: dict[int, BizTypeCounts] = field(default_factory=dict)
    bound: int | None = None

    def of(self, biz_type_id: int) -> BizTypeCounts:
        """The counts of one biz type; none of anything where it has not been counted yet."""
        return self.by_biz_type.get(biz_type_id, BizTypeCounts())

    @property
    def total(self) -> BizTypeCounts:
        """The sums, and the earliest of the times."""
        every = self.by_biz_type.values()
        return BizTypeCounts(
            pending=sum(each.pending for each in every),
            due_now=sum(each.due_now for each in every),
            running=sum(each.running for each in every),
            dead=sum(each.dead for each in every),
            oldest_due_at=_earliest(each.oldest_due_at for each in every),
            next_due_at=_earliest(each.next_due_at for each in every),
        )


def read_counts(*, biz_type_id: int | None = None, using: str | None = None) -> Counts:
    """The counts of the loader, all of one moment; where they are older than ``STALE``, counts made here, bounded.

    Args:
        biz_type_id: only those of this biz type; None for all.
        using: the database; None for the one that jobs are read from.
    """
    counted, biz_types = JobCount.objects.using(using), BizType.objects.using(using)
    if biz_type_id is not None:
        counted, biz_types = counted.filter(biz_type_id=biz_type_id), biz_types.filter(pk=biz_type_id)
    rows = list(counted.order_by("biz_type_id"))
    if not rows or timezone.now() - max(row.counted_at for row in rows) > STALE:
        each = max(LEAST_EACH, FARTHEST // max(len(rows), USUAL_BIZ_TYPES))
        return count_bounded(biz_types, each if biz_type_id is None else FARTHEST)
    return Counts(
        as_of=min(row.counted_at for row in rows),
        by_biz_type={
            row.biz_type_id: BizTypeCounts(
                row.pending, row.due_now, row.running, row.dead, row.oldest_due_at, row.next_due_at
            )
            for row in rows
        },
    )


def bounded_count(rows: QuerySet[Any]) -> int:
    """How many rows there are, or ``FARTHEST`` where there are more.

    The order is dropped: a count needs none, and without one it reads at most ``FARTHEST`` entries of an index.
    """
    return rows.order_by()[:FARTHEST].count()


def plain_jobs(biz_type: BizType) -> int | None:
    """How many of its jobs are not encrypted at rest, up to ``FARTHEST``; None where that takes long to find out."""
    # Here, since all pages of the admin come by this file, and processes that show none need no SQL of ours.
    from tasksapp.sql.driver.deadline import TookTooLong, within  # noqa: PLC0415  seldom needed

    rows = Job.objects.filter(biz_type=biz_type.pk).exclude(request__startswith=MARK)
    try:
        with within(PLAIN_SECONDS, using=rows.db):
            return bounded_count(rows)
    except TookTooLong:
        return None


def count_bounded(biz_types: QuerySet[BizType], bound: int) -> Counts:
    """The counts of the biz types at this moment, up to the bound for each."""
    now, no_time = timezone.now(), Value(None, DateTimeField())
    pending = Job.objects.filter(biz_type=OuterRef("pk"), status=Status.PENDING).order_by("next_run_at")
    waiting = biz_types.order_by().annotate(
        runs=Value(0),
        waits=_bounded(Q(status=Status.PENDING), "next_run_at", bound),
        due=_bounded(Q(status=Status.PENDING, next_run_at__lte=now), "next_run_at", bound),
        died=_bounded(Q(status=Status.DEAD), "finished_at", bound),
        oldest=Subquery(pending.values("next_run_at")[:1]),
        following=Subquery(pending.filter(next_run_at__gt=now).values("next_run_at")[:1]),
    )
    # No more jobs run than workers can hold. Their index is by leases: for each biz type it would be read as a whole.
    running = Job.objects.filter(status=Status.RUNNING, biz_type__in=biz_types.values("pk")).order_by()
    held = running.values("biz_type_id").annotate(
        runs=Count("pk"), waits=Value(0), due=Value(0), died=Value(0), oldest=no_time, following=no_time
    )
    columns = ("runs", "waits", "due", "died", "oldest", "following")
    rows = waiting.values_list("pk", *columns).union(held.values_list("biz_type_id", *columns), all=True)
    found: dict[int, BizTypeCounts] = {}
    for key, runs, waits, due, died, oldest, following in rows:
        if runs:
            found[key] = found.get(key, BizTypeCounts())._replace(running=runs)
        else:
            ran = found.get(key, BizTypeCounts()).running
            found[key] = BizTypeCounts(waits, due, ran, died, oldest, following)
    return Counts(as_of=now, by_biz_type=found, bound=bound)


def _earliest(times: Iterable[datetime | None]) -> datetime | None:
    return min((at for at in times if at is not None), default=None)


class _BoundedCount(Subquery):
    """Counts the rows of a subquery that ends by itself."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()


def _bounded(condition: Q, order: str, bound: int) -> _BoundedCount:
    # The order names the index: without one, the table is read for a biz type that has fewer than statistics promise.
    rows = Job.objects.filter(condition, biz_type=OuterRef("pk"))
    return _BoundedCount(rows.order_by(order).values("pk")[:bound])
