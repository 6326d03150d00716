"""When a failed job is tried again, and when it is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksapp.jobs.retry_policy import (
    LAST_CHANCE,
    LONGEST_RETRY_AFTER,
    LONGEST_WAIT,
    Exhausted,
    RetryPolicy,
    TryAgain,
)
from tasksapp.models import BizType
from tests.retry_policies import retry_policy

DUE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def policy(backoff: str = "exponential", **fields: Any) -> RetryPolicy:
    return retry_policy(backoff, **{"max_seconds": 300, **fields})


@pytest.mark.parametrize(
    ("given_policy", "waits"),
    [
        # the vector of Google Cloud Tasks' documentation: doubled three times, then as much again each time
        (policy(max_doublings=3), [10, 20, 40, 80, 160, 240, 300, 300]),
        # doubled without end, up to the longest
        (policy(), [10, 20, 40, 80, 160, 300, 300]),
        # never doubled: it grows by its first step
        (policy(max_doublings=0), [10, 20, 30, 40]),
        # another factor
        (policy(factor=3), [10, 30, 90, 270, 300]),
        (policy("fixed"), [10, 10, 10]),
        # fixed, but the longest is shorter
        (policy("fixed", max_seconds=5), [5, 5]),
        (policy("linear"), [10, 20, 30, 40]),
        (policy("linear", max_seconds=25), [10, 20, 25, 25]),
        # a list's last repeats, and the longest does not touch it
        (policy("list", waits=(1, 900, 7)), [1, 900, 7, 7, 7]),
        # an empty list falls back to what the other fields say
        (policy("list"), [10, 20, 40]),
    ],
)
def test_waits_grow_as_the_policy_says(given_policy: RetryPolicy, waits: list[float]) -> None:
    assert [given_policy.wait_seconds(failures) for failures in range(1, len(waits) + 1)] == waits


@pytest.mark.parametrize("backoff", ["exponential", "linear", "fixed", "list"])
@pytest.mark.parametrize("failures", [1_000, 1_025, 10_000])
def test_a_job_that_failed_ever_so_often_still_has_a_wait(backoff: str, failures: int) -> None:
    made = policy(backoff, factor=10, waits=(300,) if backoff == "list" else (), min_seconds=300)

    assert made.wait_seconds(failures) == 300


def test_a_wait_of_nothing_stays_nothing_however_often_it_is_doubled() -> None:
    assert {policy(min_seconds=0).wait_seconds(failures) for failures in (1, 1_024, 1_026, 10_000)} == {0}


def test_the_last_attempt_is_the_last() -> None:
    spent = policy(max_attempts=3).next_attempt(failures=3, now=DUE, counted_from=DUE)

    assert spent == Exhausted("all 3 attempts failed")


def test_jitter_adds_its_share_at_most() -> None:
    jittery = policy("fixed", jitter=0.5)

    assert jittery.next_attempt(failures=1, now=DUE, counted_from=DUE, draw=0) == TryAgain(DUE + timedelta(seconds=10))
    assert jittery.next_attempt(failures=1, now=DUE, counted_from=DUE, draw=1) == TryAgain(DUE + timedelta(seconds=15))


@pytest.mark.parametrize(
    ("retry_after", "wait"),
    [
        # sooner than the backoff: the backoff
        (1, timedelta(seconds=10)),
        (-5, timedelta(seconds=10)),
        # later: as asked
        (60, timedelta(seconds=60)),
        # beyond the age: its last moment
        (10**9, timedelta(hours=1) - LAST_CHANCE),
        (float("inf"), timedelta(hours=1) - LAST_CHANCE),
        (float("nan"), timedelta(hours=1) - LAST_CHANCE),
    ],
)
def test_retry_after_counts_between_backoff_and_age(retry_after: float, wait: timedelta) -> None:
    bounded = policy(max_age=timedelta(hours=1))

    answer = bounded.next_attempt(failures=1, now=DUE, counted_from=DUE, retry_after_seconds=retry_after)

    assert answer == TryAgain(DUE + wait)


def test_without_an_age_a_receiver_can_ask_for_a_week() -> None:
    answer = policy().next_attempt(failures=1, now=DUE, counted_from=DUE, retry_after_seconds=10**12)

    assert answer == TryAgain(DUE + LONGEST_RETRY_AFTER)


def test_a_retry_after_the_age_is_none() -> None:
    now = DUE + timedelta(minutes=59, seconds=55)

    answer = policy(max_age=timedelta(hours=1)).next_attempt(failures=1, now=now, counted_from=DUE)

    assert isinstance(answer, Exhausted)
    assert "1:00:00" in answer.reason


def test_after_a_redrive_the_age_counts_from_it() -> None:
    redriven = DUE + timedelta(days=3)

    answer = policy(max_age=timedelta(hours=1)).next_attempt(failures=1, now=redriven, counted_from=redriven)

    assert answer == TryAgain(redriven + timedelta(seconds=10))


@given(
    backoff=st.sampled_from(["fixed", "linear", "exponential"]),
    failures=st.integers(1, 1000),
    least=st.floats(0, 1e6),
    most=st.floats(0, 1e6),
    factor=st.floats(1, 10),
    doublings=st.none() | st.integers(0, 32),
)
def test_a_wait_is_never_negative_longer_than_allowed_or_shorter_than_before(
    *, backoff: str, failures: int, least: float, most: float, factor: float, doublings: int | None
) -> None:
    some = policy(backoff, min_seconds=least, max_seconds=most, factor=factor, max_doublings=doublings)

    wait = some.wait_seconds(failures)

    assert 0 <= wait <= most
    assert some.wait_seconds(failures + 1) >= wait * (1 - 1e-9)


def test_a_job_may_bring_its_own_number_of_attempts() -> None:
    biz_type = BizType(code="order.close", max_attempts=4, backoff="list", backoff_list=[1, 2])

    assert RetryPolicy(biz_type=biz_type).max_attempts == 4
    assert RetryPolicy(biz_type=biz_type, own_attempts=9).max_attempts == 9
    assert RetryPolicy(biz_type=biz_type).wait_seconds(2) == 2


def test_no_wait_and_no_age_reaches_beyond_the_end_of_time() -> None:
    endless = policy("fixed", min_seconds=1e300, max_seconds=1e300, max_age=timedelta.max)

    step = endless.next_attempt(failures=1, now=DUE, counted_from=DUE)

    assert step == TryAgain(DUE + LONGEST_WAIT)


def test_no_attempt_is_planned_from_a_jobs_own_end_on() -> None:
    ends = policy("fixed", expires_at=DUE + timedelta(seconds=10))

    too_late = ends.next_attempt(failures=1, now=DUE, counted_from=DUE)
    in_time = ends.next_attempt(failures=1, now=DUE - timedelta(seconds=1), counted_from=DUE)

    assert too_late == Exhausted("the next attempt would come after it expires")
    assert in_time == TryAgain(DUE + timedelta(seconds=9))


def test_a_job_that_was_run_before_the_end_of_the_calendar_can_be_told_to_wait() -> None:
    due, longest = datetime.max.replace(tzinfo=UTC) - timedelta(days=1), TryAgain(DUE + LONGEST_WAIT)
    aged = policy(max_age=timedelta(days=30))

    assert policy().snoozed(now=DUE, counted_from=due, after_seconds=1e300) == longest
    assert aged.next_attempt(failures=1, now=DUE, counted_from=due, retry_after_seconds=1e300) == longest
