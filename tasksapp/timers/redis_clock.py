"""Redis' time, as this process knows it: the one clock of leases and lateness, also while Redis is away."""

from __future__ import annotations

import threading
from collections.abc import Callable

import redis

from delayhub.engine import Clock, SystemClock

#: The clocks are compared again after this many seconds.
SYNC_SECONDS = 10.0


class RedisClock:
    """The machine's monotonic clock, set by Redis' TIME.

    Args:
        client: gives a client of the Redis that holds the timers.
        clock: the machine's own clock.
    """

    def __init__(self, client: Callable[[], redis.Redis], clock: Clock | None = None) -> None:
        self._client = client
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._ahead_ms: float | None = None
        self._sync_at = 0.0

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return self._clock.monotonic()

    def now_ms(self) -> int:
        """Redis' time as last compared; the machine's time where Redis has never answered."""
        with self._lock:
            ahead_ms = self._ahead_ms
        if ahead_ms is None:
            return self._clock.now_ms()
        return int(self._clock.monotonic() * 1000 + ahead_ms)

    def sync(self) -> bool:
        """Compares the clocks if that is due; False where Redis does not answer."""
        return self._clock.monotonic() < self._sync_at or self.ask()

    def ask(self) -> bool:
        """Compares the clocks now; False where Redis does not answer."""
        try:
            seconds, micros = self._client().time()
        except (redis.RedisError, OSError):
            return False
        after = self._clock.monotonic()
        with self._lock:
            # Redis answered at some moment in between; the later one makes us late rather than early.
            self._ahead_ms = seconds * 1000 + micros / 1000 - after * 1000
            self._sync_at = after + SYNC_SECONDS
        return True

    @property
    def is_set(self) -> bool:
        """Whether Redis ever answered, or :meth:`set` was called."""
        return self._ahead_ms is not None

    def set(self, now_ms: int) -> None:
        """Goes on from that time, Unix ms, until Redis answers."""
        with self._lock:
            self._ahead_ms = now_ms - self._clock.monotonic() * 1000

    def set_if_unknown(self, now_ms: int) -> None:
        """The same, where no time is known yet."""
        if not self.is_set:
            self.set(now_ms)
