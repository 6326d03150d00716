"""Pending rows that should have a timer, page by page along the index (biz type, next_run_at, id)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections
from django.db.models import BigIntegerField, Exists, F, Func, OuterRef, Q, QuerySet

from tasksapp.models import BizType, Job, Transition

PAGE_ROWS = 1_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: A moment as µs since 1970: Django reads one that comes as text in 8 µs, half of what a row costs here.
_MICROSECONDS = "(extract(epoch FROM %(expressions)s) * 1000000)::bigint"


class Place(NamedTuple):
    """Where a walk along the index stands: everything up to here is done."""

    next_run_at: datetime
    id: UUID


class Row(NamedTuple):
    """A pending job, as far as its timer needs it.

    ``under_way_until``: until then the message of its Celery task counts as under way, and it needs no timer.
    """

    id: UUID
    next_run_at: datetime
    priority: int
    under_way_until: datetime | None

    @property
    def place(self) -> Place:
        """Its place in the index."""
        return Place(self.next_run_at, self.id)


class Standing(NamedTuple):
    """Every biz type, and the ids of those that have rows to be armed.

    Args:
        biz_types: all of them, as they are now.
        entering: those with rows that enter the window.
        overdue: those with overdue rows.
    """

    biz_types: list[BizType]
    entering: frozenset[int]
    overdue: frozenset[int]


def standing(*, after: datetime | None, until: datetime, overdue_since: datetime, using: str) -> Standing:
    """What there is to do, in one statement: one for each biz type would cost a worker 2 ms a second for each.

    Args:
        after: where the window ended before; None for no lower end.
        until: where it ends now.
        overdue_since: pending rows that should have run by then are overdue.
        using: the database.
    """
    rows = _pending(OuterRef("pk"), using)
    entering = rows.filter(next_run_at__lte=until, **({} if after is None else {"next_run_at__gt": after}))
    overdue = rows.filter(next_run_at__lte=overdue_since)
    found = BizType.objects.using(using).annotate(enters=Exists(entering), waits=Exists(overdue))
    marked: list[Any] = list(found)
    return Standing(
        marked,
        frozenset(biz_type.id for biz_type in marked if biz_type.enters),
        frozenset(biz_type.id for biz_type in marked if biz_type.waits),
    )


def pages(biz_type_id: int, *, after: Place | datetime | None, until: datetime, using: str) -> Iterator[Sequence[Row]]:
    """Pages of the biz type's pending rows that run after ``after`` and not later than ``until``."""
    while True:
        rows = _page(biz_type_id, after=after, until=until, using=using)
        if rows:
            yield rows
        if len(rows) < PAGE_ROWS:
            return
        after = rows[-1].place


def count_pending(biz_type_id: int, *, after: datetime, until: datetime, using: str) -> int:
    """How many of its jobs are pending and run in that time."""
    return _pending(biz_type_id, using).filter(next_run_at__gt=after, next_run_at__lte=until).count()


def _page(biz_type_id: int, *, after: Place | datetime | None, until: datetime, using: str) -> list[Row]:
    rows = _pending(biz_type_id, using).filter(next_run_at__lte=until)
    match after:
        case Place(moment, job_id):
            # Both conditions: the first lets the index begin there, the second passes over what was seen.
            rows = rows.filter(next_run_at__gte=moment).filter(Q(next_run_at__gt=moment) | Q(id__gt=job_id))
        case datetime():
            rows = rows.filter(next_run_at__gt=after)
    run_at: Any = F("next_run_at")
    as_number = connections[using].vendor == "postgresql"
    if as_number:
        run_at = Func(run_at, template=_MICROSECONDS, output_field=BigIntegerField())
    ordered = rows.order_by("next_run_at", "id").annotate(run_at=run_at)
    found = ordered.values_list("id", "run_at", "priority", "lease_until")[:PAGE_ROWS]
    if not as_number:
        return [Row(*columns) for columns in found]
    return [Row(id_, _EPOCH + timedelta(microseconds=at), step, until) for id_, at, step, until in found]


def _pending(biz_type_id: int | OuterRef, using: str) -> QuerySet[Job]:
    return Job.objects.using(using).filter(biz_type_id=biz_type_id, status=Transition.CLAIM.source)
