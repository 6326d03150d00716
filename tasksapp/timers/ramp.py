"""The ramp: after a pause the rate begins small and rises, so that a backlog does not flood the receiver."""

from __future__ import annotations

RAMP_FIRST_PER_SECOND = 50.0
RAMP_DOUBLING_SECONDS = 2.0
#: The ramp ends after so many seconds (50/s, doubled ten times).
RAMP_SECONDS = 20.0


def ramp_per_second(elapsed_seconds: float) -> float | None:
    """The rate that the ramp allows so long after the pause ended; None where the ramp is over."""
    if elapsed_seconds >= RAMP_SECONDS:
        return None
    doublings: float = elapsed_seconds // RAMP_DOUBLING_SECONDS
    return RAMP_FIRST_PER_SECOND * 2**doublings
