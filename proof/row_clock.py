"""The clock of rows in a run: it shows the same time as that of the scripts."""

from __future__ import annotations

from proof.virtual_time import VirtualTime


class RowClock:
    """As ``RedisClock``, by the run's own time.

    Args:
        time: the run's time.
    """

    is_set = True

    def __init__(self, time: VirtualTime) -> None:
        self._time = time

    def now_ms(self) -> int:
        """The time, Unix ms."""
        return self._time.now_ms

    def monotonic(self) -> float:
        """The same in seconds."""
        return self._time.now_ms / 1000

    def sync(self) -> bool:
        """They are always alike."""
        return True

    ask = sync
