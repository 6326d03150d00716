"""Gate: what a claim may take from a timer queue."""

from __future__ import annotations

from dataclasses import dataclass

from delayhub.engine.keys import BONUS_MS
from delayhub.errors import OptionError


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """What a claim may take from a timer queue.

    Args:
        rate_per_second: permits a second (GCRA); None for no limit. Claims that come late lose none, up to 0.1 s:
            so ``t`` seconds never bring more timers than ``burst + rate_per_second * (t + 0.1)``.
        burst: permits that may be used at once after a pause.
        max_in_flight: timers that may be in flight at once, from claim to :meth:`TimerLane.settle`; None for no limit.
        shut_until_ms: nothing passes before this Unix time in ms.
        weight: share of a claim beside the lane's other queues.
        bonus_ms: by how much a timer of the next priority step must be due earlier to go first.

    Raises:
        OptionError: a number is not positive.
    """

    rate_per_second: float | None = None
    burst: int = 1
    max_in_flight: int | None = None
    shut_until_ms: int = 0
    weight: int = 1
    bonus_ms: int = BONUS_MS

    def __post_init__(self) -> None:
        for name in ("rate_per_second", "max_in_flight", "burst", "weight", "bonus_ms"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise OptionError(f"{name} must be positive, got {value!r}")
