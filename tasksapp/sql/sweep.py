"""Pending rows that should have a timer, page by page along the index (biz type, next_run_at, id)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet

from tasksapp.models import Job, Status

PAGE_ROWS = 1_000


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
    columns = rows.order_by("next_run_at", "id").values_list("id", "next_run_at", "priority", "lease_until")
    return [Row(*column) for column in columns[:PAGE_ROWS]]


def _pending(biz_type_id: int, using: str) -> QuerySet[Job]:
    return Job.objects.using(using).filter(biz_type_id=biz_type_id, status=Status.PENDING)
