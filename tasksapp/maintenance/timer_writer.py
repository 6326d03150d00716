"""Ensuring timers for rows, with a client that waits for Redis."""

from __future__ import annotations

from collections.abc import Iterable

from tasksapp.timers.lanes import patient_lane
from tasksapp.timers.timer import Timer, by_place, grouped


def ensure_timers(timers: Iterable[Timer]) -> list[str]:
    """What became of each timer, in no order: ``left`` where it was there already. Raises RedisError."""
    return [
        outcome
        for (lane, queue, step), group in by_place(grouped(timers)).items()
        for outcome in patient_lane(lane).ensure_keys(queue, group, step=step)
    ]
