"""Those who fail too often within a time wait until it is over."""

from __future__ import annotations

import pytest

from delayhub import failure_limit
from delayhub.failure_limit import FailureLimit
from tests.standing_clock import StandingClock


def test_after_too_many_failures_of_one_kind_it_waits_and_others_do_not() -> None:
    clock = StandingClock()
    limit = FailureLimit(most=3, window_seconds=60, clock=clock)

    counts = []
    for _ in range(3):
        assert limit.wait_seconds("a") == 0
        counts.append(limit.failed("a"))
        clock.seconds += 10

    assert counts == [1, 2, 3]
    assert limit.wait_seconds("a") == 30, "they count from the first one on"
    assert limit.wait_seconds("b") == 0
    clock.seconds += 30
    assert limit.wait_seconds("a") == 0
    assert limit.failed("a") == 1


def test_a_success_and_an_order_forget_failures() -> None:
    limit = FailureLimit(most=1, window_seconds=60)
    limit.failed("a")
    limit.failed("b")

    limit.succeeded("a")
    assert (limit.wait_seconds("a"), limit.wait_seconds("b") > 0) == (0, True)
    limit.forget()
    assert limit.wait_seconds("b") == 0


def test_it_remembers_a_bounded_number_of_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure_limit, "MOST_KNOWN", 10)
    limit = FailureLimit(most=1, window_seconds=60)

    for number in range(11):
        limit.failed(number)

    assert [number for number in range(11) if limit.wait_seconds(number) == 0] == [0]
