"""The insert rate of a queue: how many newcomers a lane admits, and when the next may come."""

from __future__ import annotations

import pytest

from delayhub.engine import TimerLane
from tests.fixture_types import Now, Until


def test_new_jobs_are_admitted_up_to_the_burst_and_then_at_the_rate(lane: TimerLane, now_ms: Now, until: Until) -> None:
    first = lane.admit("close", count=12, rate_per_second=50, burst=10)
    second = lane.admit("close", count=1, rate_per_second=50, burst=10)
    until(now_ms() + second.wait_ms + 1)  # whole ms, rounded down
    third = lane.admit("close", count=5, rate_per_second=50, burst=10)

    assert first.count == 10
    assert second.count == 0
    assert 0 < second.wait_ms <= 20
    assert third.count >= 1


def test_each_queue_has_a_rate_of_its_own(lane: TimerLane) -> None:
    lane.admit("close", count=1, rate_per_second=0.01, burst=1)

    assert lane.admit("close", count=1, rate_per_second=0.01, burst=1).count == 0
    assert lane.admit("remind", count=1, rate_per_second=0.01, burst=1).count == 1


def test_what_admission_remembers_ends_by_itself(lane: TimerLane) -> None:
    lane.admit("close", count=3, rate_per_second=1, burst=3)

    remaining = lane.client.pttl(lane.keys.queue("close").admitted)

    assert 0 < remaining <= 6_000


@pytest.mark.parametrize("rate", [3, 7, 0.3, 700])
def test_the_first_is_admitted_at_once_at_any_rate(lane: TimerLane, rate: float) -> None:
    # An interval that is no whole number of µs must not round the one permit away.
    let_in = [lane.admit(f"q{n}", count=1, rate_per_second=rate, burst=1).count for n in range(50)]

    assert let_in == [1] * 50
