"""Series and summaries add up to what was counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Pulse
from tasksapp.stats import pulses as module
from tasksapp.stats.histogram import bucket_of
from tasksapp.stats.pulses import PulsePoint, floor, read_series, settled_until, summaries
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 1, 5, 12, 0, 30, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture(autouse=True)
def _stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)


def pulse(biz_type: BizType, at: datetime, count: int, kind: str = "succeeded", key: str = "", span: int = 60) -> None:
    Pulse.objects.create(biz_type=biz_type, at=at, span_seconds=span, kind=kind, key=key, count=count)


def test_a_series_has_a_point_for_each_step_also_where_nothing_ran(
    biz_type: BizType, make_biz_type: MakeBizType, django_assert_num_queries: Any
) -> None:
    other = make_biz_type("other")
    at = floor(NOW, 60) - 3 * MINUTE
    pulse(biz_type, at, 90)
    pulse(biz_type, at, 7, "failed", "http.503")
    pulse(biz_type, at, 3, "failed", "dns")
    pulse(biz_type, at, 2, "dead", "dns")
    pulse(biz_type, at, 99, "lateness", str(bucket_of(100)))
    pulse(biz_type, at, 1, "lateness", str(bucket_of(41_000)))
    pulse(other, at + MINUTE, 5)

    with django_assert_num_queries(1):
        first, second, third = read_series(biz_type_id=None, since=at, until=at + 3 * MINUTE, step_seconds=60)

    assert first[:4] == (at, 90, 10, 2)
    assert first.lateness_p50_ms == pytest.approx(100, rel=0.1)
    assert first.lateness_p99_ms == pytest.approx(100, rel=0.1)
    assert second == PulsePoint(at + MINUTE, 5)
    assert third == PulsePoint(at + 2 * MINUTE)
    (own, _, _) = read_series(biz_type_id=other.id, since=at, until=at + 3 * MINUTE, step_seconds=60)
    assert own == PulsePoint(at)


@pytest.mark.parametrize(
    ("step_seconds", "spans"),
    [
        # minutes of two days, hours before
        (60, [3_600, 60]),
        # stretches of ten minutes where they are summed, minutes after
        (600, [3_600, 600, 60]),
        (1_800, [3_600, 600, 60]),
        # hours alone, and minutes for the newest
        (3_600, [3_600, 3_600, 60]),
        (86_400, [3_600, 3_600, 60]),
    ],
)
def test_a_series_reads_the_longest_stretches_that_fit_without_a_gap(step_seconds: int, spans: list[int]) -> None:
    since, until = floor(NOW, 3_600) - timedelta(days=3), NOW

    stretches = list(module._stretches(since, until, step_seconds=step_seconds, now=NOW))

    assert [span for span, _, _ in stretches] == spans
    assert stretches[0][1] == since
    assert stretches[-1][2] == until
    assert all(before[2] == after[1] for before, after in pairwise(stretches))


def test_summed_stretches_and_the_newest_minutes_make_one_series(biz_type: BizType) -> None:
    hour = settled_until(3_600, now=NOW) - HOUR
    pulse(biz_type, hour, 60, span=3_600)
    pulse(biz_type, hour, 60)  # of which it is the sum
    pulse(biz_type, hour + HOUR, 5)

    points = read_series(biz_type_id=biz_type.id, since=hour, until=NOW, step_seconds=3_600)

    assert [point.succeeded for point in points] == [60, 5, 0]


def test_the_last_minutes_are_summed_up(
    biz_type: BizType, make_biz_type: MakeBizType, django_assert_num_queries: Any
) -> None:
    other = make_biz_type("other")
    at = floor(NOW, 60) - 5 * MINUTE
    pulse(biz_type, at, 600)
    pulse(biz_type, at + 4 * MINUTE, 200, "failed", "dns")
    pulse(biz_type, at, 800, "lateness", "0")
    pulse(biz_type, at - MINUTE, 9_999)
    pulse(other, at, 1)

    with django_assert_num_queries(1):
        total, by_biz_type = summaries(minutes=5)

    own = by_biz_type[biz_type.id]
    # five and a half minutes, of which the last five seconds are not written yet
    assert own.done_per_minute == pytest.approx(600 * 60 / 325)
    assert (own.failing_share, own.lateness_p50_ms, own.lateness_p99_ms) == (0.25, 0, 0)
    assert by_biz_type[other.id].failing_share == 0
    assert summaries(among=[biz_type.id])[0] == own
    assert total.done_per_minute == pytest.approx(601 * 60 / 325)


def test_where_nothing_ran_there_is_no_share(biz_type: BizType) -> None:
    assert summaries() == ((0.0, None, None, None), {})
    assert read_series(biz_type_id=None, since=NOW, until=NOW - HOUR, step_seconds=60) == []
