"""A quantile of a histogram is within 9 % of the true one."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tasksapp.stats.histogram import BUCKETS, bucket_of, middle_ms, quantile_ms


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 0.99, 1.0])
def test_a_quantile_is_right_within_nine_percent(share: float) -> None:
    drawn = sorted(random.Random(7).lognormvariate(4, 2) + 20 for _ in range(20_000))

    found = quantile_ms(Counter(map(bucket_of, drawn)), share)

    true = drawn[max(0, round(share * len(drawn)) - 1)]
    assert found == pytest.approx(true, rel=0.1)  # 9 %, and whole ms


def test_a_bucket_grows_with_the_time() -> None:
    buckets = [bucket_of(ms) for ms in range(100_000)]

    assert buckets == sorted(buckets)
    assert (bucket_of(-5), bucket_of(0), bucket_of(0.9), bucket_of(1)) == (0, 0, 0, 1)
    assert bucket_of(10**15) == BUCKETS - 1


def test_the_middle_of_a_bucket_lies_in_it() -> None:
    assert all(bucket_of(middle_ms(bucket)) == bucket for bucket in range(20, BUCKETS - 1))
    assert middle_ms(0) == 0


def test_of_nothing_there_is_no_quantile() -> None:
    assert quantile_ms({}, 0.5) is None
    assert quantile_ms({3: 0}, 0.5) is None
