"""The periodic entries that beats have written into a broker, for people."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import redis

from delayhub.clock import moment
from delayhub.engine.keys import LaneKeys
from delayhub.engine.occurrences import LEFT_OUT, EntryLanes, OccurrenceBook, PeriodicEntry, parse_entry


class Periodic(NamedTuple):
    """One entry.

    Args:
        name: the entry's name.
        task: the task's name.
        schedule: when it occurs, in words.
        queue: the queue that it publishes to; where there are several, the one that keeps its state.
        last: the nominal time of the occurrence that was published last; None before the first.
        next: when it occurs next; None where nothing follows.
        published: how many occurrences were.
        seen: when a beat tended it last.
    """

    name: str
    task: str
    schedule: str
    queue: str
    last: datetime | None
    next: datetime | None
    published: int
    seen: datetime | None

    @property
    def why_left_out(self) -> str:
        """Why beats do not publish it; '' if they do."""
        return self.schedule.removeprefix(LEFT_OUT) if self.schedule.startswith(LEFT_OUT) else ""


def periodic_entries(client: redis.Redis, *, key_prefix: str = "", queue: str | None = None) -> list[Periodic]:
    """Every entry, or those of one queue, by name. Two round trips."""
    by_lane: dict[str, list[str]] = {}
    for name, lane in EntryLanes(client, key_prefix=key_prefix).all().items():
        if queue in {None, lane}:
            by_lane.setdefault(lane, []).append(name)
    with client.pipeline(transaction=False) as pipeline:
        for lane, names in by_lane.items():
            pipeline.hmget(LaneKeys(lane, key_prefix).schedules, names)
        found = pipeline.execute()
    return sorted(
        shown(name, lane, parse_entry(raw))
        for (lane, names), stored in zip(by_lane.items(), found, strict=True)
        for name, raw in zip(names, stored, strict=True)
        if raw is not None
    )


def forget_entry(client: redis.Redis, name: str, *, key_prefix: str = "") -> bool:
    """Whether the state of an entry was removed; a beat that still has the entry writes it down again, as a new one."""
    lanes = EntryLanes(client, key_prefix=key_prefix)
    lane = lanes.of([name]).get(name)
    if lane is None:
        return False
    lanes.forget(name)
    return OccurrenceBook(client, lane, key_prefix=key_prefix).forget([name]) > 0


def shown(name: str, lane: str, entry: PeriodicEntry) -> Periodic:
    """An entry as people see it."""
    last, following, seen = (moment(at) if at else None for at in (entry.last, entry.next, entry.seen))
    return Periodic(name, entry.task, entry.words, lane, last, following, entry.count, seen)
