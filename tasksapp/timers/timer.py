"""Timer: what Redis holds for a job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from delayhub.clock import due_ms
from tasksapp.models import BizType

#: (id, due ms) of timers, by lane, queue and priority: each group is one call to Redis.
Groups = Mapping[tuple[str, str, int], Sequence[tuple[str, int]]]


class TimedRow(Protocol):
    """A row, or a part of one, that says when its job runs."""

    @property
    def id(self) -> UUID: ...

    @property
    def next_run_at(self) -> datetime: ...

    @property
    def priority(self) -> int: ...


class Timer(NamedTuple):
    """A job's timer: its place (lane and queue), its id, its time and its priority."""

    lane: str
    queue: str
    job_id: UUID
    next_run_at: datetime
    priority: int

    @classmethod
    def of(cls, row: TimedRow, biz_type: BizType, *, at: datetime | None = None) -> Timer:
        """The timer of a row: at the time that the row says, or at another one."""
        return cls(biz_type.timer_lane, biz_type.queue, row.id, at or row.next_run_at, row.priority)


def grouped(timers: Iterable[Timer]) -> dict[tuple[str, str, int], list[tuple[str, int]]]:
    """(id, due ms) by lane, queue and priority: each group is one call to Redis."""
    groups: dict[tuple[str, str, int], list[tuple[str, int]]] = defaultdict(list)
    for timer in timers:
        groups[timer.lane, timer.queue, timer.priority].append((str(timer.job_id), due_ms(timer.next_run_at)))
    return groups
