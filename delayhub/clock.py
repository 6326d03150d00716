"""Where the time comes from: injected, so that tests can move it. What is due is decided by Redis' own clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

#: No due time may lie further ahead: 100 years, in ms.
MAX_DELAY_MS = 100 * 366 * 86_400_000

#: A day before ``datetime`` ends, in Unix ms: each time zone has a date for it.
LAST_MS = 253_402_300_799_999 - 86_400_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Unix time and a monotonic time."""

    def now_ms(self) -> int:
        """Unix time in whole ms, rounded down."""

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean something."""


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Unix time in whole ms, rounded down."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean something."""
        return time.monotonic()


def due_ms(moment: datetime) -> int:
    """A moment as Unix ms, rounded up: nothing is ever early.

    Raises:
        ValueError: the datetime has no time zone, so it names no moment.
    """
    if moment.tzinfo is None:
        raise ValueError(f"a due time needs a time zone, got {moment.isoformat()}")
    since = moment - _EPOCH
    return since.days * 86_400_000 + since.seconds * 1000 - (-since.microseconds // 1000)


def runnable_ms(at: datetime) -> int:
    """Return a moment as :func:`due_ms` does, from 1970 to a day before the calendar ends."""
    return min(max(0, due_ms(at)), LAST_MS)


def moment(unix_ms: int) -> datetime:
    """Unix ms as a moment in UTC."""
    return _EPOCH + timedelta(milliseconds=unix_ms)


def now_by(clock: Clock) -> datetime:
    """What the time is by that clock."""
    return moment(clock.now_ms())
