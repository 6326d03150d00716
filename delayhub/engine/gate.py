"""Gate: what a claim may take from a timer queue."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple

from delayhub.engine.keys import BONUS_MS
from delayhub.errors import OptionError

#: The fields of a gate in Redis, in the order of :attr:`Gate.fields`.
FIELDS = (
    "rate", "burst", "max_in_flight", "shut_until", "weight", "bonus", "key_rate", "key_burst", "key_in_flight",
)  # fmt: skip


class Revision(NamedTuple):
    """Which state of which row a gate was made from. Of two, that of the younger row is newer, or the later state."""

    row: int
    number: int


#: That of a gate that was made from no row.
NO_REVISION = Revision(0, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """What a claim may take from a timer queue; its fields are in the order of :data:`FIELDS`.

    Args:
        rate_per_second: permits a second (GCRA); None for no limit. Claims that come late lose none, up to 0.1 s:
            so ``t`` seconds never bring more timers than ``burst + rate_per_second * (t + 0.1)``.
        burst: permits that may be used at once after a pause.
        max_in_flight: timers that may be in flight at once, from claim to :meth:`TimerLane.settle`; None for no limit.
        shut_until_ms: nothing passes before this Unix time in ms.
        weight: share of a claim beside the lane's other queues.
        bonus_ms: by how much a timer of the next priority step must be due earlier to go first.
        key_rate_per_second: permits a second of each flow key; None for no limit.
        key_burst: as ``burst``, of each flow key.
        key_max_in_flight: timers of one flow key that may be in flight at once; None for no limit.

    Raises:
        OptionError: a number is not positive.
    """

    rate_per_second: float | None = None
    burst: int = 1
    max_in_flight: int | None = None
    shut_until_ms: int = 0
    weight: int = 1
    bonus_ms: int = BONUS_MS
    key_rate_per_second: float | None = None
    key_burst: int = 1
    key_max_in_flight: int | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and name != "shut_until_ms" and not value > 0:
                raise OptionError(f"{name} must be positive, got {value!r}")

    @property
    def fields(self) -> list[str]:
        """The values as the script ``set_gate`` takes them; '' for None."""
        return [
            "" if value is None else repr(float(value) if name.endswith("rate_per_second") else value)
            for name, value in asdict(self).items()
        ]
