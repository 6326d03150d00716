"""Schedule: intervals, lists of times, bounds and jitter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any

import pytest

from tasksapp.errors import InvalidSeries
from tasksapp.series.schedule import jitter_of, schedule

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_an_interval_is_counted_from_its_anchor_in_both_directions() -> None:
    found = schedule(every=timedelta(minutes=40), anchor=NOON + timedelta(minutes=10))

    assert list(islice(found.after(NOON), 2)) == [NOON + timedelta(minutes=10), NOON + timedelta(minutes=50)]
    assert list(islice(found.before(NOON), 2)) == [NOON - timedelta(minutes=30), NOON - timedelta(minutes=70)]
    assert found.next(NOON + timedelta(minutes=10)) == NOON + timedelta(minutes=50)
    assert next(found.before(NOON + timedelta(minutes=10))) == NOON - timedelta(minutes=30)


def test_a_list_is_put_in_order_and_each_time_is_taken_once() -> None:
    found = schedule(times=["2026-01-05T14:00:00Z", "2026-01-05T13:00:00Z", "2026-01-05T15:00:00+01:00"])

    assert list(found.after(NOON)) == [NOON + HOUR, NOON + 2 * HOUR]
    assert list(found.before(NOON + 2 * HOUR)) == [NOON + HOUR]


def test_start_and_end_belong_to_the_schedule() -> None:
    found = schedule(every=HOUR, anchor=NOON, starts_at=NOON + HOUR, ends_at=NOON + 3 * HOUR)

    assert list(found.after(NOON - 10 * HOUR)) == [NOON + HOUR, NOON + 2 * HOUR, NOON + 3 * HOUR]
    assert list(found.before(NOON + 10 * HOUR)) == [NOON + 3 * HOUR, NOON + 2 * HOUR, NOON + HOUR]


def test_walks_end_where_pythons_times_end() -> None:
    found = schedule(every=timedelta(days=3660), anchor=NOON)

    assert max(found.after(NOON)).year > 9980
    assert min(found.before(NOON)).year < 20


def test_the_shortest_gap_is_that_of_the_closest_two() -> None:
    assert schedule(cron_expression="0,50 9 * * *").shortest_gap(NOON) == timedelta(minutes=50)
    assert schedule(every=HOUR, anchor=NOON).shortest_gap(NOON) == HOUR
    assert schedule(times=[NOON]).shortest_gap(NOON) is None


@pytest.mark.parametrize(
    ("field", "code", "given"),
    [
        ("cron", "one_of", {}),
        ("every", "one_of", {"cron_expression": "* * * * *", "every": HOUR}),
        ("every", "range", {"every": timedelta(milliseconds=999), "anchor": NOON}),
        ("every", "range", {"every": timedelta(0), "anchor": NOON}),
        ("every", "range", {"every": timedelta(days=3661), "anchor": NOON}),
        ("anchor", "required", {"every": HOUR}),
        ("times", "invalid", {"times": ["tomorrow"]}),
        ("times", "invalid", {"times": [5]}),
        ("times", "no_time_zone", {"times": ["2026-01-05T14:00:00"]}),
        ("times", "too_many", {"times": ["2026-01-05T14:00:00Z"] * 1001}),
        ("ends_at", "too_early", {"every": HOUR, "anchor": NOON, "starts_at": NOON, "ends_at": NOON - HOUR}),
        ("time_zone", "unknown", {"every": HOUR, "anchor": NOON, "time_zone": "Mars"}),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(field: str, code: str, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidSeries) as refusal:
        schedule(**given)

    assert (refusal.value.field, refusal.value.code) == (field, code)


def test_jitter_is_within_its_bound_differs_and_is_the_same_each_time() -> None:
    bound = timedelta(seconds=30)
    moments = [NOON + step * HOUR for step in range(50)]

    drawn = [jitter_of(7, moment, jitter=bound) for moment in moments]

    assert drawn == [jitter_of(7, moment, jitter=bound) for moment in moments]
    assert all(timedelta(0) <= each < bound for each in drawn)
    assert len(set(drawn)) > 40
    assert jitter_of(8, NOON, jitter=bound) != drawn[0]
    assert jitter_of(7, NOON, jitter=timedelta(0)) == timedelta(0)
    assert all(a + x < b + y for (a, x), (b, y) in pairwise(zip(moments, drawn, strict=True)))
