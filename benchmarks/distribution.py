"""What a sample of times looks like: its percentiles, its modes, a sketch of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.figures import percentile

#: The width of a bin of the histogram in which modes are sought.
BIN_MS = 0.5
#: Fewer times say nothing about modes: a pause of the machine could be one.
ENOUGH = 1000
#: A hill of the histogram is a mode where it rises above the valley before it, and falls again, by this many standard
#: deviations of such a count, and holds this share of all times. The fault that this was made for held 1 % at 10 ms.
DEVIATIONS = 4.0
LEAST_SHARE = 0.003
SKETCH_LINES = 24
SKETCH_COLUMNS = 50


class Mode(NamedTuple):
    """A hill of the histogram: where its top is, and the share of all times that it holds."""

    at_ms: float
    share: float

    def __str__(self) -> str:
        return f"{self.at_ms:g} ms ({self.share:.1%} of all)"


@dataclass
class Hill:
    """A hill as it is found, in bins."""

    start: int
    top: int


class Distribution:
    """Times in milliseconds.

    Args:
        times_ms: at least one, none below 0, in any order.
    """

    def __init__(self, times_ms: Sequence[float]) -> None:
        self.times_ms = sorted(times_ms)
        self._bins = Counter(int(time // BIN_MS) for time in self.times_ms)

    def figures(self) -> dict[str, float]:
        """p50, p90, p99, p99.9 and the worst, in ms."""
        shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
        figures = {name: round(percentile(self.times_ms, share), 2) for name, share in shares.items()}
        return {**figures, "worst": round(self.times_ms[-1], 2)}

    def modes(self) -> list[Mode]:
        """The hills of the histogram that no accident explains, the earliest first.

        Raises:
            ValueError: there are fewer times than :data:`ENOUGH`.
        """
        if len(self.times_ms) < ENOUGH:
            raise ValueError(f"{len(self.times_ms)} times are too few to look for modes; at least {ENOUGH}")
        hills = self._hills()
        stops = [hill.start for hill in hills[1:]] + [max(self._bins) + 1]
        modes = [
            Mode((hill.top + 0.5) * BIN_MS, self._share(hill.start, stop))
            for hill, stop in zip(hills, stops, strict=True)
        ]
        return [mode for mode in modes if mode.share >= LEAST_SHARE]

    def sketch(self) -> str:
        """The histogram as lines of text, up to p99.9; a bar's length is the square root of its count."""
        last = int(percentile(self.times_ms, 0.999) // BIN_MS)
        step = max(1, math.ceil((last + 1) / SKETCH_LINES))
        counts = [sum(self._bins[start + n] for n in range(step)) for start in range(0, last + 1, step)]
        scale = SKETCH_COLUMNS / math.sqrt(max(counts))
        return "\n".join(
            f"{number * step * BIN_MS:9.1f} ms {count:8} {'#' * math.ceil(math.sqrt(count) * scale)}"
            for number, count in enumerate(counts)
        )

    def _hills(self) -> list[Hill]:
        """What rises and falls by more than chance, in a histogram whose bins are summed with their neighbours."""
        heights = [sum(self._bins[near] for near in (n - 1, n, n + 1)) for n in range(max(self._bins) + 3)]
        hills = [Hill(start=0, top=0)]
        climbing, valley = True, 0
        for number, height in enumerate(heights):
            hill = hills[-1]
            if climbing and height > heights[hill.top]:
                hill.top = number
            elif climbing and stands_out(heights[hill.top], height):
                climbing, valley = False, number
            elif not climbing and height < heights[valley]:
                valley = number
            elif not climbing and stands_out(height, heights[valley]):
                hills.append(Hill(start=valley, top=number))
                climbing = True
        return hills

    def _share(self, start: int, stop: int) -> float:
        return sum(self._bins[number] for number in range(start, stop)) / len(self.times_ms)


def stands_out(count: int, other: int) -> bool:
    """Whether a count is greater than another by more than chance."""
    return count - other > DEVIATIONS * math.sqrt(count + other + 1)
