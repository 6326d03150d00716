"""Which occurrences of a series are made, reckoned without a database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tasksapp.models import Series
from tasksapp.series.plan import AGAIN, plan

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


def series(**fields: object) -> Series:
    return Series(**{"id": 7, "every": HOUR, "anchor": NOON, "next_occurrence_at": NOON, "make_at": NOON, **fields})


def test_the_next_one_is_made_however_far_it_is() -> None:
    made = plan(series(next_occurrence_at=NOON + 5 * HOUR), now=NOON)

    assert [each.at for each in made.occurrences] == [NOON + 5 * HOUR]
    assert (made.next_occurrence_at, made.make_at) == (NOON + 6 * HOUR, NOON + 5 * HOUR)


def test_a_frequent_one_is_made_for_a_minute_and_looked_at_before_that_is_over() -> None:
    made = plan(series(every=SECOND), now=NOON)

    assert len(made.occurrences) == 61
    assert made.make_at == NOON + 31 * SECOND


def test_no_more_than_a_count_and_no_more_than_a_turn() -> None:
    counted = plan(series(every=SECOND, count=10, made=4), now=NOON)
    bounded = plan(series(every=SECOND, catch_up="all"), now=NOON + HOUR)

    assert (len(counted.occurrences), counted.next_occurrence_at) == (6, None)
    # Once more at the time of the last one, to see whether a worker was there.
    assert counted.make_at == NOON + 5 * SECOND
    assert len(bounded.occurrences) == 100
    assert bounded.make_at == NOON + HOUR + AGAIN


@pytest.mark.parametrize(("catch_up", "count"), [("none", 0), ("latest", 1), ("all", 100)])
def test_what_was_missed_is_due_now(catch_up: str, count: int) -> None:
    now = NOON + 400 * HOUR + 30 * SECOND

    made = plan(series(catch_up=catch_up), now=now)

    assert [each.at <= now for each in made.occurrences].count(True) == count
    assert {each.due_at for each in made.occurrences if each.at <= now} <= {now}


def test_one_that_has_ended_makes_nothing() -> None:
    assert plan(series(next_occurrence_at=None), now=NOON) == ([], None, None)
