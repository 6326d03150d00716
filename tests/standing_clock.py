"""A clock for tests that stands until they move it."""

from __future__ import annotations


class StandingClock:
    """A ``delayhub.clock.Clock``: a test adds to ``seconds``."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def now_ms(self) -> int:
        return int(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds
