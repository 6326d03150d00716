"""The shortest part of a failing history that fails, too: what is left can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shortest(steps: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """The steps without those that it fails without, too: first half of them are left out, in the end one at a time."""
    size = len(steps) // 2
    while size:
        first = 0
        while first < len(steps):
            shorter = [*steps[:first], *steps[first + size :]]
            if fails(shorter):
                steps = shorter
            else:
                first += size
        size //= 2
    return steps
