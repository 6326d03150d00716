"""MovableClock: lets time pass at once for all that waits in Redis, and for jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

import redis

from delayhub.clock import SystemClock
from delayhub.engine.entry import text
from delayhub.engine.keys import KEY_PARTS, LANE_PARTS, QUEUE_PARTS
from delayhub.testing.jobs import bring_jobs_nearer

#: Sorted sets of times, and how many units of their scores make a millisecond.
UNITS_PER_MS = {
    QUEUE_PARTS["WAITING"]: 16,
    QUEUE_PARTS["LEASED"]: 1,
    QUEUE_PARTS["DEAD"]: 1,
    QUEUE_PARTS["REVOKED"]: 1,
    QUEUE_PARTS["IN_FLIGHT"]: 1,
    QUEUE_PARTS["TURNS"]: 1,
    QUEUE_PARTS["SHUT"]: 1,
    QUEUE_PARTS["TIMED"]: 1,
    LANE_PARTS["AGENDA"]: 1,
}
GATE_UNITS_PER_MS = {"shut_until": 1, "tat": 1000}
#: Times in the JSON of a periodic entry; not when a beat tended it, since beats that run have done so meanwhile.
ENTRY_TIMES = ("anchor", "next", "last", "till")


class MovableClock:
    """A clock that runs like the machine's, and jumps ahead on :meth:`advance`.

    DelayHub's clock is that of Redis, which cannot be moved; so a jump brings all that waits in Redis nearer by as
    much: due times, ends of leases, revocations, gates, limits of tasks and keys that are taken for a time. Consumers
    are woken to look again. Where ``tasksapp`` is installed, the rows of jobs come nearer too, in the database that the
    project writes jobs to.

    Args:
        client: a client of the private server whose entries move along; without one only this clock's own time moves.
        jobs: whether rows move with the entries; False in a test that has no database.
    """

    def __init__(self, client: redis.Redis | None = None, *, jobs: bool = True) -> None:
        self._client = client
        self._moves_jobs = client is not None and jobs
        self._ahead_ms = 0
        self._system = SystemClock()

    def now_ms(self) -> int:
        """Unix time in whole ms, with all jumps."""
        return self._system.now_ms() + self._ahead_ms

    def monotonic(self) -> float:
        """Seconds that never go back, with all jumps."""
        return self._system.monotonic() + self._ahead_ms / 1000

    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Lets so much time pass at once.

        Raises:
            ValueError: the time is negative; clocks do not go back.
        """
        jump = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        if jump < timedelta():
            raise ValueError(f"a clock does not go back, got {jump}")
        jump_ms = jump // timedelta(milliseconds=1)
        self._ahead_ms += jump_ms
        # Rows first: a timer that fires finds its job due.
        if self._moves_jobs:
            bring_jobs_nearer(jump)
        if self._client is not None:
            self._pull_everything(self._client, jump_ms)

    def _pull_everything(self, client: redis.Redis, jump_ms: int) -> None:
        lanes: set[str] = set()
        for raw in client.scan_iter(match="*delayhub:{*", count=1000):
            key = raw.decode()
            lanes.add(key[: key.index("}", key.index("delayhub:{")) + 1])
            if key.endswith(QUEUE_PARTS["GATE"]):
                pull_fields(client, key, GATE_UNITS_PER_MS, jump_ms)
            if key.endswith(QUEUE_PARTS["LIMITED"]):
                pull_limits(client, key, jump_ms)
            if key.endswith(QUEUE_PARTS["PAUSED"]):
                pull_fields(client, key, {text(name): 1 for name in client.hkeys(key)}, jump_ms)
            if key.endswith(LANE_PARTS["SCHEDULES"]):
                pull_entries(client, key, jump_ms)
            if key.endswith(KEY_PARTS["KEY_TAT"]) and (at_us := client.get(key)):
                client.set(key, max(int(at_us) - jump_ms * 1000, 0), keepttl=True)
            if QUEUE_PARTS["STEP_WAITING"] in key:
                pull_scores(client, key, jump_ms * 16)
            for part, units in UNITS_PER_MS.items():
                if key.endswith(part):
                    pull_scores(client, key, jump_ms * units)
        for lane in lanes:
            # No consumer's alarm is right any more; the consumers that wait at the bell claim again.
            client.delete(lane + LANE_PARTS["ALARM"])
            if not client.llen(lane + LANE_PARTS["WAKE"]):
                client.rpush(lane + LANE_PARTS["WAKE"], 1)


def pull_entries(client: redis.Redis, key: str, jump_ms: int) -> None:
    """Lowers the times of periodic entries, so that beats find them due."""

    def pull(pipeline: Any) -> None:
        stored = pipeline.hgetall(key)
        pipeline.multi()
        for name, raw in stored.items():
            entry = json.loads(raw)
            entry |= {part: max(entry[part] - jump_ms, 1) for part in ENTRY_TIMES if entry.get(part)}
            pipeline.hset(key, name, json.dumps(entry))

    client.transaction(pull, key)  # a beat may publish meanwhile: then again


def pull_limits(client: redis.Redis, key: str, jump_ms: int) -> None:
    """Lowers when the next of each task may start."""
    for task, limit in cast("dict[bytes, bytes]", client.hgetall(key)).items():
        interval, next_at, *most = text(limit).split(":")
        client.hset(key, task, ":".join([interval, str(max(int(next_at) - jump_ms * 1000, 0)), *most]))


def pull_scores(client: redis.Redis, key: str, pull: int) -> None:
    """Lowers every score of a sorted set, at once."""
    scores = dict(cast("list[tuple[bytes, float]]", client.zrange(key, 0, -1, withscores=True)))
    if scores:
        # XX: a member that was claimed meanwhile does not come back.
        client.zadd(key, {member: max(score - pull, 0) for member, score in scores.items()}, xx=True)


def pull_fields(client: redis.Redis, key: str, units_per_ms: Mapping[str, int], jump_ms: int) -> None:
    """Lowers the times in a hash, so that a gate opens sooner."""
    for field, units in units_per_ms.items():
        value = client.hget(key, field)
        if value:
            client.hset(key, field, str(max(int(value) - jump_ms * units, 0)))
