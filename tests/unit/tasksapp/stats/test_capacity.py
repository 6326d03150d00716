"""What a biz type can do a second follows from its limits and from what was seen."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tasksapp.models import BizType
from tasksapp.stats.capacity import USUAL_GAP_SECONDS, Limit, Measured, capacity_of, drained_per_second

AT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def seconds(*paces: int, begin: int = 0) -> Counter[datetime]:
    return Counter({AT + timedelta(seconds=begin + n): pace for n, pace in enumerate(paces) if pace})


def capacity(measured: Measured, *, rate: float | None = None, slots: int | None = None, **fields: Any) -> Any:
    biz_type = BizType(id=1, code="order.close", updated_at=AT, **fields)
    return capacity_of(biz_type, measured, delivery_rate=rate, max_in_flight=slots)


@pytest.mark.parametrize(
    ("drain", "pace"),
    [
        # the first and the last second are not whole
        (seconds(10, 100, 110, 90, 5), 100),
        # too short to say
        (seconds(10, 100, 100, 5), None),
        (Counter(), None),
        # the fastest run that is long enough
        (seconds(5, 100, 100, 100, 5) + seconds(9, 200, 200, 200, 9, begin=10), 200),
        (seconds(5, 300, 300, 300, 5) + seconds(9, 200, 200, 200, 9, begin=10), 300),
        (seconds(5, 100, 100, 100, 5) + seconds(9, 900, 9, begin=10), 100),
        # a slow one has seconds without an attempt
        (seconds(1, 0, 1, 0, 0, 1, 0, 1, 1), 3 / 7),
        # of a long one the last minute
        (seconds(*[10] * 100, *[50] * 62), 50),
    ],
)
def test_the_pace_of_a_drain_is_that_of_its_whole_seconds(drain: Counter[datetime], pace: float | None) -> None:
    found = drained_per_second(drain, now=AT + timedelta(hours=1))

    assert found == (pace if pace is None else pytest.approx(pace))


def test_the_drain_that_is_under_way_counts_more_than_a_faster_one() -> None:
    both = seconds(5, 300, 300, 300, 5) + seconds(9, 200, 200, 200, 9, begin=10)

    assert drained_per_second(both, now=AT + timedelta(seconds=20)) == 200


def test_a_rate_that_is_less_than_what_workers_do_is_the_limit() -> None:
    found = capacity(Measured(), rate=500, delivery_burst=125)

    assert found == (500, Limit.RATE, True)


@pytest.mark.parametrize(
    ("seen", "limits", "limit"),
    [
        # far below the rate, with jobs that wait: it is not the rate that holds them
        (22, {"rate": 500}, Limit.WORKERS),
        (399, {"rate": 500}, Limit.WORKERS),
        (401, {"rate": 500}, Limit.RATE),
        # a slot's turn is 0.23 s, so 46 of them allow 200 a second
        (20, {"slots": 46}, Limit.WORKERS),
        (190, {"slots": 46}, Limit.SLOTS),
        (22, {"rate": 500, "slots": 1000}, Limit.WORKERS),
    ],
)
def test_a_limit_that_was_not_nearly_reached_is_not_what_limits(seen: int, limits: Any, limit: Limit) -> None:
    measured = Measured(attempts=100, busy_seconds=20, drains={1: seconds(9, seen, seen, seen, 9)})
    fields = {"delivery_rate": limits.get("rate"), "max_in_flight": limits.get("slots"), "delivery_burst": 125}

    found = capacity(measured, **limits, **fields)

    assert found == (seen, limit, True)


def test_slots_allow_as_many_as_the_receiver_is_quick() -> None:
    measured = Measured(attempts=100, busy_seconds=20)

    found = capacity(measured, slots=46)

    assert found == (pytest.approx(46 / (0.2 + USUAL_GAP_SECONDS)), Limit.SLOTS, True)


def test_other_slots_are_reckoned_from_what_the_present_ones_did() -> None:
    measured = Measured(attempts=100, busy_seconds=20, drains={1: seconds(9, 160, 160, 160, 9)})

    as_it_is = capacity(measured, slots=40, max_in_flight=40)
    twice = capacity(measured, slots=80, max_in_flight=40)

    assert as_it_is == (160, Limit.SLOTS, True)
    assert twice.per_second == pytest.approx(320)


def test_slots_whose_turn_is_mostly_the_machines_are_not_steady() -> None:
    assert not capacity(Measured(attempts=100, busy_seconds=1), slots=4).is_known
    assert not capacity(Measured(), slots=4).is_known


def test_what_was_seen_under_limits_that_were_changed_since_does_not_count() -> None:
    measured = Measured(attempts=100, busy_seconds=20, drains={1: seconds(9, 10, 10, 10, 9, begin=-60)})

    assert capacity(measured, rate=100, delivery_rate=100, delivery_burst=100) == (100, Limit.RATE, True)


def test_what_workers_do_without_a_limit_is_what_they_did() -> None:
    measured = Measured(attempts=100, busy_seconds=1, drains={1: seconds(9, 2_500, 2_500, 2_500, 9)})

    assert capacity(measured) == (2_500, Limit.WORKERS, True)


def test_where_nothing_was_seen_it_is_a_guess() -> None:
    found = capacity(Measured())

    assert (found.limited_by, found.is_known) == (Limit.UNKNOWN, False)


def test_a_slow_receiver_lets_a_dispatcher_do_no_more_than_its_open_callbacks() -> None:
    found = capacity(Measured(attempts=10, busy_seconds=50))

    assert found.per_second == pytest.approx(500 / (5 + USUAL_GAP_SECONDS))
