"""How many jobs there are: as the loader counted them last, or counted here, no further than ``FARTHEST``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import IntegerField, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from tasksapp.models import BizType, Job, JobCount, Status

#: No count that a page makes goes further: it stays fast however many jobs there are.
FARTHEST = 10_000
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
        as_of: that moment; every number is exact then, unless ``bounded``.
        by_biz_type: by the id of the biz type; one that is newer than the count is not in it.
        bounded: whether a number may have ended at ``FARTHEST``, so that it means "at least": there was no fresh count.
    """

    as_of: datetime | None
    by_biz_type: dict[int, BizTypeCounts] = field(default_factory=dict)
    bounded: bool = False

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


def read_counts(*, using: str | None = None) -> Counts:
    """The counts of the loader, all of one moment; where they are older than ``STALE``, counts made here, bounded.

    Args:
        using: the database; None for the one that jobs are read from.
    """
    rows = list(JobCount.objects.using(using).order_by("biz_type_id"))
    if not rows or timezone.now() - max(row.counted_at for row in rows) > STALE:
        return _count_bounded(using=using)
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


def _count_bounded(*, using: str | None) -> Counts:
    now = timezone.now()
    pending = Job.objects.filter(biz_type=OuterRef("pk"), status=Status.PENDING).order_by("next_run_at")
    biz_types: QuerySet[Any] = with_counts(BizType.objects.using(using)).annotate(
        running=_count(Q(status=Status.RUNNING)),
        due_now=_count(Q(status=Status.PENDING, next_run_at__lte=now)),
        oldest_due_at=Subquery(pending.values("next_run_at")[:1]),
        next_due_at=Subquery(pending.filter(next_run_at__gt=now).values("next_run_at")[:1]),
    )
    rows = biz_types.order_by().values_list("pk", *BizTypeCounts._fields)
    return Counts(as_of=now, by_biz_type={key: BizTypeCounts(*columns) for key, *columns in rows}, bounded=True)


def _earliest(times: Iterable[datetime | None]) -> datetime | None:
    return min((at for at in times if at is not None), default=None)


class _BoundedCount(Subquery):
    """Counts the rows of a subquery that ends by itself."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()


def with_counts(biz_types: QuerySet[BizType]) -> QuerySet[Any]:
    """The biz types with ``pending`` and ``dead``: how many of their jobs are."""
    return biz_types.annotate(pending=_count(Q(status=Status.PENDING)), dead=_count(Q(status=Status.DEAD)))


def _count(condition: Q) -> _BoundedCount:
    rows = Job.objects.filter(condition, biz_type=OuterRef("pk"))
    return _BoundedCount(rows.order_by().values("pk")[:FARTHEST])
