"""Peaks against the limits that people set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tasksapp.models import UNTIL_RESUMED, BizType
from tasksapp.stats.limit_peaks import limit_peaks
from tasksapp.stats.upcoming import Arrivals

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2030, 1, 2, tzinfo=UTC)


def closing(**fields: object) -> BizType:
    return BizType(pk=1, code="order.close", **{"delivery_rate": 500, **fields})


def test_jobs_that_are_due_at_once_are_late_by_what_the_limit_takes() -> None:
    (peak,) = limit_peaks([closing()], arrivals={1: [Arrivals(200_000, MIDNIGHT, MIDNIGHT)]}, now=NOW)

    assert (peak.jobs, peak.at, peak.capacity_per_second) == (200_000, MIDNIGHT, 500)
    assert peak.late_seconds == 400
    assert peak.done_at == MIDNIGHT + timedelta(seconds=400)


def test_jobs_that_come_slower_than_the_limit_are_no_peak() -> None:
    evenly = Arrivals(1_000, MIDNIGHT, MIDNIGHT + timedelta(minutes=5))

    assert limit_peaks([closing()], arrivals={1: [evenly]}, now=NOW) == []
    assert limit_peaks([closing(delivery_rate=None)], arrivals={1: [evenly]}, now=NOW) == []
    assert limit_peaks([closing()], arrivals={}, now=NOW) == []


def test_jobs_of_a_biz_type_that_is_paused_or_disabled_are_not_forecast() -> None:
    arrivals = {1: [Arrivals(200_000, MIDNIGHT, MIDNIGHT)]}

    assert limit_peaks([closing(paused_until=UNTIL_RESUMED)], arrivals=arrivals, now=NOW) == []
    assert limit_peaks([closing(paused_until=MIDNIGHT)], arrivals=arrivals, now=NOW) == []
    assert limit_peaks([closing(enabled=False)], arrivals=arrivals, now=NOW) == []


def test_a_ramp_under_way_makes_the_end_of_a_peak_later() -> None:
    arrivals = {1: [Arrivals(3_000, NOW, NOW)]}

    (peak,) = limit_peaks([closing()], arrivals=arrivals, now=NOW)
    (ramped,) = limit_peaks([closing(resumed_at=NOW)], arrivals=arrivals, now=NOW)

    # Two seconds each of 50, 100, 200 and 400 a second, then the limit.
    assert (peak.done_at, ramped.done_at) == (NOW + timedelta(seconds=6), NOW + timedelta(seconds=11))


def test_what_is_not_done_within_a_day_has_no_end() -> None:
    (peak,) = limit_peaks(
        [closing(delivery_rate=0.001)], arrivals={1: [Arrivals(200_000, MIDNIGHT, MIDNIGHT)]}, now=NOW
    )

    assert peak.done_at is None
