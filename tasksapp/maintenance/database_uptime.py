"""How long the database has been in reach without a break: before one full lease of that, no lease counts as lost.

While the database is away nobody can renew, so a lease that ran out then says nothing about its worker. A loader that
starts or takes over was not there to see; it goes by what the one before it left in Redis, and begins to count anew
where that is gone.
"""

from __future__ import annotations

import contextlib

import redis

from delayhub.engine import Clock, TimerLane
from tasksapp.conf import options


class Patience:
    """What one loader knows of that.

    Args:
        clock: Redis' time, which is also the time of what is left for the next loader.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: float | None = None
        self._heard = 0.0

    def take_over(self, lane: TimerLane) -> None:
        """Begins with what the loader before this one knew, where it held the seat until just now."""
        now = self._clock.monotonic()
        value = lane.client.get(lane.keys.database)
        self._since = None
        if isinstance(value, bytes):
            self._since = now - max(0.0, (self._clock.now_ms() - int(value)) / 1000)
        self._heard = now

    def hear(self) -> None:
        """The database has answered just now."""
        now = self._clock.monotonic()
        # An answer that took too long may have waited for the database to come back.
        if self._since is None or now - self._heard > _unnoticed_seconds():
            self._since = now
        self._heard = now

    def is_over(self) -> bool:
        """Whether every worker that lives has been able to renew its leases."""
        return self._since is not None and self._clock.monotonic() - self._since >= options().lease_seconds

    def leave(self, lane: TimerLane) -> None:
        """Leaves what is known for a loader that takes over soon."""
        if self._since is None:
            return
        since_ms = self._clock.now_ms() - int((self._clock.monotonic() - self._since) * 1000)
        lane.client.set(lane.keys.database, since_ms, px=max(1, int(_unnoticed_seconds() * 1000)))

    def begin_anew(self, lane: TimerLane) -> None:
        """The database did not answer; a Redis that does not either forgets what was left there by itself."""
        self._since = None
        with contextlib.suppress(redis.RedisError, OSError):
            lane.client.delete(lane.keys.database)


def _unnoticed_seconds() -> float:
    """For how long nobody needs to have looked.

    Leases are renewed when a third of them has passed, so one that was held before so short a break outlives it by
    another third.
    """
    known = options()
    return known.renew_seconds + 2 * known.sweep_seconds
