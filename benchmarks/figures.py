"""Figures made of measurements."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


def rate(work: Callable[[], object], count: int) -> float:
    """How often a second, where the work does it ``count`` times."""
    start = time.perf_counter()
    work()
    return count / (time.perf_counter() - start)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that the share of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def late(values: Sequence[float], unit: str = "ms") -> dict[str, float]:
    """How late half of them are at most, and 99 of 100."""
    return {f"late p{share} {unit}": round(percentile(values, share / 100), 1) for share in (50, 99)}
