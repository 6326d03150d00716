"""DatabaseUptime: how long the database has answered without a break.

Expired leases are reclaimed only after one full lease of uninterrupted uptime: while the database is away no worker can
renew, so a lease that expired then says nothing about its worker. A loader that starts or takes over was not there to
see, so the one before it leaves its knowledge in Redis; where that is gone, the uptime is counted from zero.
"""

from __future__ import annotations

import contextlib

import redis

from delayhub.clock import Clock
from delayhub.engine import TimerLane
from tasksapp.conf import options
from tasksapp.timers.lanes import patient_lanes


class DatabaseUptime:
    """The uptime as one loader has seen it.

    Args:
        clock: Redis' time, which loaders share.
    """

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._up_since: float | None = None
        self._answered_at = 0.0

    def note_answer(self) -> None:
        """Counts on: the database answered just now."""
        now = self._clock.monotonic()
        # An answer that took too long may have waited for the database to come back.
        if self._up_since is None or now - self._answered_at > _longest_gap_seconds():
            self._up_since = now
        self._answered_at = now

    def covers_a_lease(self) -> bool:
        """Whether it is so long that every living worker has been able to renew its leases."""
        return self._up_since is not None and self._clock.monotonic() - self._up_since >= options().lease_seconds

    def save(self) -> None:
        """Leaves the uptime in Redis, for a loader that takes over soon. Raises RedisError."""
        if self._up_since is None:
            return
        lane = _lane()
        since_ms = self._clock.now_ms() - int((self._clock.monotonic() - self._up_since) * 1000)
        lane.client.set(lane.keys.database, since_ms, px=max(1, int(_longest_gap_seconds() * 1000)))

    def load(self) -> None:
        """Counts on from what the loader before this one left, if it did so just now. Raises RedisError."""
        lane, now = _lane(), self._clock.monotonic()
        value = lane.client.get(lane.keys.database)
        self._up_since = None
        if isinstance(value, bytes):
            self._up_since = now - max(0.0, (self._clock.now_ms() - int(value)) / 1000)
        self._answered_at = now

    def reset_count(self) -> None:
        """Counts from zero, and leaves Redis as it is."""
        self._up_since = None

    def reset(self) -> None:
        """Counts from zero: the database did not answer."""
        self.reset_count()
        # A Redis that does not answer either will drop the key by itself.
        with contextlib.suppress(redis.RedisError, OSError):
            lane = _lane()
            lane.client.delete(lane.keys.database)


def _lane() -> TimerLane:
    return patient_lanes()[0]


def _longest_gap_seconds() -> float:
    """The longest time between two answers that is no break.

    Leases are renewed when a third of them has passed, so one that held before so short a gap holds for another third
    after it.
    """
    known = options()
    return known.renew_seconds + 2 * known.sweep_seconds
