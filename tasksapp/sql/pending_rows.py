"""Pending rows that should have a timer, page by page along the index (biz type, next_run_at, id)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections
from django.db.models import BigIntegerField, F, Func, QuerySet

from tasksapp.models import Job, Transition
from tasksapp.sql.look_in_bodies import beyond
from tasksapp.sql.read_values import from_unix_microseconds, unix_microseconds

PAGE_ROWS = 1_000


class Position(NamedTuple):
    """A position in the index: all rows up to it have been read."""

    next_run_at: datetime
    id: UUID


class PendingRow(NamedTuple):
    """What the timer of a pending job needs of its row.

    ``under_way_until``: until then the message of its Celery task counts as under way, and it needs no timer.
    """

    id: UUID
    next_run_at: datetime
    priority: int
    under_way_until: datetime | None
    flow_key: str = ""

    @property
    def position(self) -> Position:
        """Its position in the index."""
        return Position(self.next_run_at, self.id)


def pages(
    biz_type_id: int, *, after: Position | datetime | None, until: datetime, using: str
) -> Iterator[Sequence[PendingRow]]:
    """Pages of the biz type's pending rows that run after ``after`` and not later than ``until``."""
    while True:
        rows = _page(biz_type_id, after=after, until=until, using=using)
        if rows:
            yield rows
        if len(rows) < PAGE_ROWS:
            return
        after = rows[-1].position


def count_pending(biz_type_id: int, *, after: datetime | None, until: datetime, using: str) -> int:
    """How many of its jobs are pending and run in that time; ``after`` is None for no lower end."""
    rows = _pending(biz_type_id, using).filter(next_run_at__lte=until)
    return (rows if after is None else rows.filter(next_run_at__gt=after)).count()


def _page(biz_type_id: int, *, after: Position | datetime | None, until: datetime, using: str) -> list[PendingRow]:
    rows = _pending(biz_type_id, using).filter(next_run_at__lte=until)
    match after:
        case Position():
            rows = rows.filter(beyond("next_run_at", *after))
        case datetime():
            rows = rows.filter(next_run_at__gt=after)
    as_microseconds = connections[using].vendor == "postgresql"
    moment: Any = F("next_run_at")
    if as_microseconds:
        moment = Func(moment, template=unix_microseconds("%(expressions)s"), output_field=BigIntegerField())
    ordered = rows.order_by("next_run_at", "id").annotate(moment=moment)
    found: Any = ordered.values_list("id", "moment", "priority", "lease_until", "flow_key")[:PAGE_ROWS]
    if as_microseconds:
        return [PendingRow(job_id, from_unix_microseconds(at), *columns) for job_id, at, *columns in found]
    return [PendingRow(*columns) for columns in found]


def _pending(biz_type_id: int, using: str) -> QuerySet[Job]:
    return Job.objects.using(using).filter(biz_type_id=biz_type_id, status=Transition.CLAIM.source)
