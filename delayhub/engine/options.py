"""The engine's options: frozen, validated once, units in the names."""

from __future__ import annotations

from dataclasses import dataclass

from delayhub.errors import OptionError


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineOptions:
    """How the engine keeps its entries.

    Args:
        key_prefix: put before every Redis key.
        lease_seconds: how long a claimed entry belongs to its consumer unless the lease is extended.
        max_strikes: leases that may run out before a message is dead.
        max_claim_bytes: a claim stops after this much payload, since Redis serves no other client meanwhile.
        slot_seconds: how long a timer holds a slot of ``max_in_flight`` that is not freed.

    Raises:
        OptionError: a value is not positive.
    """

    key_prefix: str = ""
    lease_seconds: float = 30.0
    max_strikes: int = 16
    max_claim_bytes: int = 512 * 1024
    slot_seconds: float = 900.0

    def __post_init__(self) -> None:
        for name in ("lease_seconds", "max_strikes", "max_claim_bytes", "slot_seconds"):
            value = getattr(self, name)
            if not value > 0:
                raise OptionError(f"{name} must be positive, got {value!r}")

    @property
    def lease_ms(self) -> int:
        """The lease in whole ms, at least one."""
        return max(1, int(self.lease_seconds * 1000))
