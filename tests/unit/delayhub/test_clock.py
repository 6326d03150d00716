"""Moments and milliseconds: what is due is never early."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from delayhub.clock import MAX_DELAY_MS, SystemClock, due_ms, moment, now_by
from tests.standing_clock import StandingClock


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (datetime(2026, 1, 1, tzinfo=UTC), 1_767_225_600_000),
        # part of a millisecond is rounded up: nothing is early
        (datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC), 1_767_225_600_001),
        (datetime(2026, 1, 1, 0, 0, 0, 1000, tzinfo=UTC), 1_767_225_600_001),
        # the zone counts
        (datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), 1_767_225_600_000),
        # beyond 2^31 seconds
        (datetime(2050, 1, 1, tzinfo=UTC), 2_524_608_000_000),
    ],
)
def test_a_moment_becomes_whole_milliseconds(when: datetime, expected: int) -> None:
    assert due_ms(when) == expected


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a time zone"):
        due_ms(datetime(2026, 1, 1))  # noqa: DTZ001  that is the point


@pytest.mark.parametrize("unix_ms", [0, 1, 1_767_225_600_001, -1, MAX_DELAY_MS])
def test_milliseconds_become_the_moment_they_came_from(unix_ms: int) -> None:
    assert due_ms(moment(unix_ms)) == unix_ms
    assert moment(unix_ms).tzinfo is UTC


def test_the_farthest_delay_is_100_years() -> None:
    assert timedelta(milliseconds=MAX_DELAY_MS) >= timedelta(days=100 * 365.25)


def test_the_system_clock_gives_unix_milliseconds_and_seconds_that_never_go_back() -> None:
    clock = SystemClock()

    assert clock.now_ms() > due_ms(datetime(2026, 1, 1, tzinfo=UTC))
    assert clock.monotonic() <= clock.monotonic()


def test_the_time_by_a_clock_is_a_moment_in_utc() -> None:
    clock = StandingClock()

    assert now_by(clock) == moment(clock.now_ms())
    assert now_by(clock).utcoffset() == timedelta(0)
