"""The chart of the next day of one biz type."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tasksapp.admin.biz_types.charts import next_chart
from tasksapp.stats.upcoming import Arrivals

NOW = datetime(2026, 11, 22, 10, 5, tzinfo=UTC)


def arrival(jobs: int, **after: float) -> Arrivals:
    at = NOW + timedelta(**after)
    return Arrivals(jobs, at, at)


def test_nothing_ahead_is_no_chart() -> None:
    assert next_chart([], now=NOW) == ""
    assert next_chart([arrival(5, days=2)], now=NOW) == ""


def test_jobs_stand_in_the_ten_minutes_in_which_they_are_due() -> None:
    ahead = [arrival(5, minutes=1), arrival(2, minutes=2), arrival(1000, hours=3), arrival(3, minutes=-30)]

    drawn = next_chart(ahead, now=NOW)

    assert "10:00\njobs due: 10" in drawn
    assert "13:00\njobs due: 1,000" in drawn
    assert drawn.count("<title>") == 144
