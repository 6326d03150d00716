"""Timer: what Redis holds for a job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from delayhub.clock import due_ms
from delayhub.engine import TimerLane
from tasksapp.models import BizType

#: (id, due ms) of timers, by lane, queue, priority and flow key.
Groups = Mapping[tuple[str, str, int, str], Sequence[tuple[str, int]]]


class TimedRow(Protocol):
    """A row, or a part of one, that says when its job runs."""

    @property
    def id(self) -> UUID: ...

    @property
    def next_run_at(self) -> datetime: ...

    @property
    def priority(self) -> int: ...

    @property
    def flow_key(self) -> str: ...


class Timer(NamedTuple):
    """A job's timer: its place (lane and queue), its id, its time, its priority and its flow key."""

    lane: str
    queue: str
    job_id: UUID
    next_run_at: datetime
    priority: int
    flow_key: str = ""

    @classmethod
    def of(cls, row: TimedRow, biz_type: BizType, *, at: datetime | None = None) -> Timer:
        """The timer of a row: at the time that the row says, or at another one."""
        return cls(biz_type.timer_lane, biz_type.queue, row.id, at or row.next_run_at, row.priority, row.flow_key)


def grouped(timers: Iterable[Timer]) -> dict[tuple[str, str, int, str], list[tuple[str, int]]]:
    """(id, due ms) by lane, queue, priority and flow key."""
    groups: dict[tuple[str, str, int, str], list[tuple[str, int]]] = defaultdict(list)
    for timer in timers:
        place = timer.lane, timer.queue, timer.priority, timer.flow_key
        groups[place].append((str(timer.job_id), due_ms(timer.next_run_at)))
    return groups


def by_place(groups: Groups) -> dict[tuple[str, str, int], dict[str, Sequence[tuple[str, int]]]]:
    """The timers of each flow key, by lane, queue and priority: each place is one call to Redis."""
    places: dict[tuple[str, str, int], dict[str, Sequence[tuple[str, int]]]] = defaultdict(dict)
    for (lane, queue, priority, key), group in groups.items():
        places[lane, queue, priority][key] = group
    return places


def fire_times(lane: TimerLane, queue: str, rows: Iterable[TimedRow]) -> dict[UUID, int | None]:
    """When the timer of each row fires, as :meth:`TimerLane.look` has it. Raises RedisError."""
    by_key: dict[str, list[UUID]] = defaultdict(list)
    for row in rows:
        by_key[row.flow_key].append(row.id)
    return {
        job_id: fires_ms
        for key, ids in by_key.items()
        for job_id, fires_ms in zip(ids, lane.look(queue, [str(each) for each in ids], key=key), strict=True)
    }
