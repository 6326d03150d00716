"""When the attempts of a policy begin, as people see it before a job fails."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksapp.jobs.retry_policy import GivesUp, RetryPolicy, TryAgain, schedule_of
from tests.retry_policies import retry_policy

DUE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
#: Dates have whole microseconds, and sums of these are exact.
HALVES = st.sampled_from([0.0, 0.5, 1.0])


def waits(made: RetryPolicy) -> list[float]:
    return [attempt.wait_least for attempt in schedule_of(made).attempts[1:]]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (retry_policy(max_attempts=5), [10, 20, 40, 80]),
        (retry_policy(max_attempts=6, max_doublings=2), [10, 20, 40, 80, 120]),
        (retry_policy(max_attempts=4, max_seconds=15.0), [10, 15, 15]),
        (retry_policy("fixed", max_attempts=4), [10, 10, 10]),
        (retry_policy("linear", max_attempts=4), [10, 20, 30]),
        (retry_policy("list", max_attempts=5, waits=(1.0, 60.0)), [1, 60, 60, 60]),
        (retry_policy(max_attempts=1), []),
    ],
    ids=["exponential", "doublings", "longest", "fixed", "linear", "list", "one attempt"],
)
def test_the_waits_are_those_of_the_retry_policy(made: RetryPolicy, expected: list[float]) -> None:
    assert waits(made) == expected


def test_the_default_policy_gives_up_after_seven_hours_and_a_half() -> None:
    schedule = schedule_of(retry_policy())

    assert (schedule.last.number, schedule.gives_up) == (16, GivesUp.ATTEMPTS)
    assert schedule.last.after_least == 26_710
    assert schedule.latest_seconds == 26_710


def test_the_jitter_makes_a_range() -> None:
    second, third = schedule_of(retry_policy(max_attempts=3, jitter=0.5)).attempts[1:]

    assert (second.wait_least, second.wait_most) == (10, 15)
    assert (third.after_least, third.after_most) == (30, 45)


def test_the_age_ends_the_attempts() -> None:
    schedule = schedule_of(retry_policy("fixed", max_age=timedelta(seconds=25)))

    assert (schedule.last.number, schedule.fewest, schedule.gives_up) == (3, 3, GivesUp.AGE)


def test_an_attempt_that_the_jitter_may_push_beyond_the_age_is_not_certain() -> None:
    schedule = schedule_of(retry_policy("fixed", max_attempts=3, jitter=0.5, max_age=timedelta(seconds=25)))

    assert [attempt.is_certain for attempt in schedule.attempts] == [True, True, False]
    assert (schedule.last.number, schedule.fewest, schedule.gives_up) == (3, 2, GivesUp.EITHER)
    assert schedule.latest_seconds == 25


def test_endless_waits_are_no_error() -> None:
    schedule = schedule_of(retry_policy("list", waits=(1e300,), max_attempts=1000, jitter=1.0))

    assert schedule.last.number == 1000


@given(
    made=st.builds(
        retry_policy,
        backoff=st.sampled_from(["fixed", "linear", "exponential", "list"]),
        min_seconds=st.integers(0, 100),
        max_seconds=st.integers(100, 10_000),
        factor=st.integers(1, 10),
        max_doublings=st.none() | st.integers(0, 32),
        waits=st.lists(st.integers(0, 1000), max_size=4).map(tuple),
        jitter=HALVES,
        max_attempts=st.integers(1, 12),
        max_age=st.none() | st.integers(0, 20_000).map(lambda seconds: timedelta(seconds=seconds)),
    ),
    draw=HALVES,
)
def test_the_policy_itself_begins_no_attempt_outside_of_the_schedule(made: RetryPolicy, draw: float) -> None:
    schedule, now, failures = schedule_of(made), DUE, 1

    while isinstance(following := made.next_attempt(failures=failures, now=now, counted_from=DUE, draw=draw), TryAgain):
        now, failures = following.at, failures + 1
        planned, after = schedule.attempts[failures - 1], (now - DUE).total_seconds()
        assert planned.after_least <= after <= planned.after_most

    assert schedule.fewest <= failures <= schedule.last.number
