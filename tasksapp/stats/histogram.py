"""Histogram: how often each length of time came, in buckets 19 % wide, so that a quantile is right within 9 %."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import log2

#: Four buckets an octave; the first is for 0 ms, the last begins at 24 days and has all that is longer.
AN_OCTAVE = 4
BUCKETS = 126


@lru_cache(4_096)  # what is near in time is near in length
def bucket_of(ms: float) -> int:
    """The bucket of a length of time; 0 for what is shorter than a millisecond."""
    if ms < 1:
        return 0
    return min(int(log2(ms) * AN_OCTAVE) + 1, BUCKETS - 1)


def middle_ms(bucket: int) -> int:
    """What stands for the times of a bucket: the middle of its ends, whole ms."""
    if bucket < 1:
        return 0
    return round(2 ** ((bucket - 0.5) / AN_OCTAVE))


def quantile_ms(counts: Mapping[int, int], share: float) -> int | None:
    """The time that such a share of all did not exceed, within 9 %; None where there are none.

    Args:
        counts: by bucket.
        share: from 0 to 1; 0.5 for the median.
    """
    left = share * sum(counts.values())
    found = None
    for bucket in sorted(counts):
        if counts[bucket] <= 0:
            continue
        found, left = bucket, left - counts[bucket]
        if left <= 0:
            break
    return None if found is None else middle_ms(found)
