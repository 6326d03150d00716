"""The leases on timers that a claim gave."""

from __future__ import annotations

from delayhub.engine import Lease, TimerClaim


def leases_of(claim: TimerClaim, *, lane: str) -> list[Lease]:
    """A lease for each timer of a claim on that lane, in the claim's order."""
    return [Lease(lane, batch.queue, timer, batch.token) for batch in claim.batches for timer in batch.ids]
