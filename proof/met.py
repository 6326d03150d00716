"""What a run has to meet: a fault or a branch that no history came by was not tried, and proves nothing."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum


class Met:
    """How often each was met.

    Args:
        asked: all that has to be met.
    """

    def __init__(self, asked: type[StrEnum]) -> None:
        self._asked = asked
        self.counts: Counter[StrEnum] = Counter()

    def note(self, what: StrEnum) -> None:
        """It has happened."""
        self.counts[what] += 1

    @property
    def never(self) -> list[StrEnum]:
        """What no history has met."""
        return [what for what in self._asked if not self.counts[what]]
