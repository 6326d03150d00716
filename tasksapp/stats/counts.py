"""How many jobs there are, counted no further than ``FARTHEST``."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import IntegerField, OuterRef, Q, QuerySet, Subquery

from tasksapp.models import BizType, Job, Status

#: No count goes further: a page stays fast however many jobs there are.
FARTHEST = 10_000


class JobCounts(NamedTuple):
    """The jobs of one biz type."""

    biz_type: BizType
    pending: int
    overdue: int
    running: int
    dead: int
    next_due: datetime | None


class _BoundedCount(Subquery):
    """Counts the rows of a subquery that ends by itself."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()


def bounded_count(rows: QuerySet[Any]) -> int:
    """How many rows there are, or ``FARTHEST`` where there are more.

    The order is dropped: a count needs none, and without one it reads at most ``FARTHEST`` entries of an index.
    """
    return rows.order_by()[:FARTHEST].count()


def count_jobs(*, now: datetime) -> list[JobCounts]:
    """The jobs of every biz type, by code; overdue are those that should have run before ``now``."""
    pending = Job.objects.filter(biz_type=OuterRef("pk"), status=Status.PENDING)
    rows: QuerySet[Any] = with_counts(BizType.objects.order_by("code")).annotate(
        running=_count(Q(status=Status.RUNNING)),
        overdue=_count(Q(status=Status.PENDING, next_run_at__lt=now)),
        next_due=Subquery(pending.order_by("next_run_at").values("next_run_at")[:1]),
    )
    return [JobCounts(row, row.pending, row.overdue, row.running, row.dead, row.next_due) for row in rows]


def with_counts(biz_types: QuerySet[BizType]) -> QuerySet[Any]:
    """The biz types with ``pending`` and ``dead``: how many of their jobs are."""
    return biz_types.annotate(pending=_count(Q(status=Status.PENDING)), dead=_count(Q(status=Status.DEAD)))


def _count(condition: Q) -> _BoundedCount:
    rows = Job.objects.filter(condition, biz_type=OuterRef("pk"))
    return _BoundedCount(rows.order_by().values("pk")[:FARTHEST])
