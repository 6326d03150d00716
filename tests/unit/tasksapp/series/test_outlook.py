"""Which occurrences of a series are to come."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tasksapp.models import Series
from tasksapp.series.outlook import coming

NOON, HOUR = datetime(2026, 1, 5, 12, tzinfo=UTC), timedelta(hours=1)


def hourly(**fields: object) -> Series:
    return Series(**{"id": 7, "every": HOUR, "anchor": NOON, **fields})


def test_what_is_made_and_waits_still_comes_and_counts_once() -> None:
    new = hourly(count=2)
    first_made = hourly(count=3, made=1, next_occurrence_at=NOON + 2 * HOUR, make_at=NOON + HOUR)
    last_made = hourly(count=1, made=1, make_at=NOON + HOUR)

    assert coming(new, after=NOON, most=9) == [NOON + HOUR, NOON + 2 * HOUR]
    assert coming(first_made, after=NOON, most=9) == [NOON + HOUR, NOON + 2 * HOUR, NOON + 3 * HOUR]
    assert coming(first_made, after=NOON, most=2) == [NOON + HOUR, NOON + 2 * HOUR]
    assert coming(last_made, after=NOON, most=9) == [NOON + HOUR]
    assert coming(last_made, after=NOON + HOUR, most=9) == []
