"""Figures made of measurements."""

from __future__ import annotations

from collections.abc import Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """The value that the share of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def late(values: Sequence[float], unit: str = "ms") -> dict[str, float]:
    """How late half of them are at most, and 99 of 100."""
    return {f"late p{share} {unit}": round(percentile(values, share / 100), 1) for share in (50, 99)}
