"""FailureLimit: too many failures of one kind within a time, and the next ones have to wait until it is over."""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock

from delayhub.clock import Clock, SystemClock

#: Kinds of failures that are remembered; when there are more, the oldest are forgotten.
MOST_KNOWN = 10_000


class FailureLimit:
    """Counts failures in this process.

    Args:
        most: failures of one kind after which the next has to wait.
        window_seconds: how long failures count, from the first of them.
        clock: tells the time.
    """

    def __init__(self, *, most: int, window_seconds: float, clock: Clock | None = None) -> None:
        self.most = most
        self.window_seconds = window_seconds
        self._clock = clock or SystemClock()
        self._lock = Lock()
        self._failures: dict[Hashable, tuple[int, float]] = {}

    def wait_seconds(self, kind: Hashable) -> float:
        """How long that kind has to wait; 0 for not at all."""
        with self._lock:
            count, until = self._current(kind)
        return until - self._clock.monotonic() if count >= self.most else 0.0

    def failed(self, kind: Hashable) -> int:
        """Counts a failure of that kind; gives back how many there were within the time."""
        with self._lock:
            count, until = self._current(kind)
            self._failures[kind] = count + 1, until
            while len(self._failures) > MOST_KNOWN:
                del self._failures[next(iter(self._failures))]
        return count + 1

    def succeeded(self, kind: Hashable) -> None:
        """Forgets the failures of that kind."""
        with self._lock:
            self._failures.pop(kind, None)

    def forget(self) -> None:
        """Forgets all failures."""
        with self._lock:
            self._failures.clear()

    def _current(self, kind: Hashable) -> tuple[int, float]:
        now = self._clock.monotonic()
        count, until = self._failures.get(kind, (0, 0.0))
        return (count, until) if until > now else (0, now + self.window_seconds)
