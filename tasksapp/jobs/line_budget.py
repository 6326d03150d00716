"""LineBudget: how many lines a log may get within some seconds; those beyond are counted."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping

from delayhub.clock import Clock, SystemClock

#: For how long lines are counted together.
WINDOW_SECONDS = 10.0
#: Lines within that time of one kind, and of all.
MOST_OF_KIND, MOST = 10, 200


class LineBudget:
    """Bounds the lines of one process. Threads share it; a forked child begins with none spent.

    Args:
        add_up: gets what had no line of its own, by kind, when the window is over; in a thread of its own.
        window_seconds: how long the window is.
        clock: tells when it is over.
    """

    def __init__(
        self,
        add_up: Callable[[Mapping[tuple[str, ...], int]], None],
        *,
        window_seconds: float = WINDOW_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        self._add_up = add_up
        self._window_seconds = window_seconds
        self._clock = clock or SystemClock()
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._ends = 0.0
        self._spent: Counter[str] = Counter()
        self._beyond: Counter[tuple[str, ...]] = Counter()

    def takes(self, kind: str, *detail: str) -> bool:
        """Whether a line of that kind may be written; where not, it is counted with its details."""
        with self._lock:
            now = self._clock.monotonic()
            if now >= self._ends and not self._beyond:
                self._ends = now + self._window_seconds
                self._spent.clear()
            if self._spent[kind] < MOST_OF_KIND and self._spent.total() < MOST:
                self._spent[kind] += 1
                return True
            if not self._beyond:
                timer = threading.Timer(max(0.0, self._ends - now), self.close_window)
                timer.daemon = True
                timer.start()
            self._beyond[kind, *detail] += 1
            return False

    def close_window(self) -> None:
        """Ends the window; what had no line is added up."""
        with self._lock:
            beyond, self._beyond = self._beyond, Counter()
            self._ends = 0.0
        if beyond:
            self._add_up(beyond)
