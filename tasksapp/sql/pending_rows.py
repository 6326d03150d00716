"""Pending rows that should have a timer, page by page along the index (biz type, next_run_at, id)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections
from django.db.models import BigIntegerField, F, Func, OuterRef, QuerySet, Subquery

from tasksapp.models import BizType, Job, Transition
from tasksapp.sql.driver.microseconds import from_unix_microseconds, unix_microseconds
from tasksapp.sql.look_in_bodies import beyond

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


class TimerWork(NamedTuple):
    """Which biz types have rows whose timers are to be set.

    Args:
        biz_types: all biz types, as they are now.
        entering: the ids of those with rows that enter the near window.
        overdue: the ids of those with overdue rows.
    """

    biz_types: list[BizType]
    entering: frozenset[int]
    overdue: frozenset[int]


def timer_work(*, after: datetime | None, until: datetime, overdue_since: datetime, using: str) -> TimerWork:
    """What there is to do, by one statement: one for each biz type would take a worker 2 ms a second for each.

    Args:
        after: where the window ended before; None for no lower end.
        until: where it ends now.
        overdue_since: pending rows that should have run by then are overdue.
        using: the database.
    """
    rows = _pending(OuterRef("pk"), using)
    entering = rows.filter(next_run_at__lte=until, **({} if after is None else {"next_run_at__gt": after}))
    overdue = rows.filter(next_run_at__lte=overdue_since)
    found = BizType.objects.using(using).annotate(enters=_first_time(entering), waits=_first_time(overdue))
    marked: list[Any] = list(found)
    return TimerWork(
        marked,
        frozenset(biz_type.id for biz_type in marked if biz_type.enters is not None),
        frozenset(biz_type.id for biz_type in marked if biz_type.waits is not None),
    )


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


def _first_time(rows: QuerySet[Job]) -> Subquery:
    """When the first of them runs, from the beginning of a stretch of the index.

    An EXISTS reads the whole table for each biz type without such rows, wherever statistics know few biz types.
    """
    return Subquery(rows.order_by("next_run_at").values("next_run_at")[:1])


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


def _pending(biz_type_id: int | OuterRef, using: str) -> QuerySet[Job]:
    return Job.objects.using(using).filter(biz_type_id=biz_type_id, status=Transition.CLAIM.source)
