"""When crontabs occur, also where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import crontab
from hypothesis import given, settings
from hypothesis import strategies as st

from delayhub.beat.schedule_times import CrontabTimes
from delayhub.clock import due_ms, moment
from tests.property_sizes import examples

BERLIN = "Europe/Berlin"


def times(zone: str, first: datetime, until: datetime, **fields: Any) -> list[str]:
    """The local times of a crontab between two moments, with the hour's offset."""
    app = Celery("shop", set_as_current=False)
    app.conf.timezone = zone
    crontab_times, found = CrontabTimes.of(crontab(app=app, **fields)), []
    at = crontab_times.next_ms(due_ms(first) - 1)
    while at is not None and at < due_ms(until):
        found.append(moment(at).astimezone(ZoneInfo(zone)).strftime("%H:%M%z")[:-2])
        at = crontab_times.next_ms(at)
    app.close()
    return found


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # real time is counted: both passes
        ({"minute": "*/30"}, ["01:00+02", "01:30+02", "02:00+02", "02:30+02", "02:00+01", "02:30+01", "03:00+01"]),
        # a time of day: the first pass only
        ({"minute": 30, "hour": 2}, ["02:30+02"]),
        ({"minute": "0,30", "hour": "2,3"}, ["02:00+02", "02:30+02", "03:00+01"]),
        # the star in the minute counts real time too
        ({"minute": "*/30", "hour": 2}, ["02:00+02", "02:30+02", "02:00+01", "02:30+01"]),
    ],
)
def test_an_hour_that_comes_twice(fields: dict[str, Any], expected: list[str]) -> None:
    first, until = datetime(2026, 10, 24, 23, tzinfo=UTC), datetime(2026, 10, 25, 2, 30, tzinfo=UTC)

    assert times(BERLIN, first, until, **fields) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # real time is counted: there is no such hour
        ({"minute": "*/30"}, ["01:00+01", "01:30+01", "03:00+02", "03:30+02"]),
        # a time of day that clocks leave out: when they go on, and once
        ({"minute": 30, "hour": 2}, ["03:00+02"]),
        ({"minute": "15,30", "hour": 2}, ["03:00+02"]),
        ({"minute": "*/30", "hour": 2}, []),
    ],
)
def test_an_hour_that_clocks_leave_out(fields: dict[str, Any], expected: list[str]) -> None:
    first, until = datetime(2026, 3, 29, 0, tzinfo=UTC), datetime(2026, 3, 29, 2, tzinfo=UTC)

    assert times(BERLIN, first, until, **fields) == expected


def test_half_an_hour_that_comes_twice() -> None:
    first, until = datetime(2026, 4, 4, 14, tzinfo=UTC), datetime(2026, 4, 4, 16, tzinfo=UTC)

    found = times("Australia/Lord_Howe", first, until, minute="*/15")

    assert found == [
        *("01:00+11", "01:15+11", "01:30+11", "01:45+11"),
        *("01:30+10", "01:45+10", "02:00+10", "02:15+10"),
    ]


def test_days_of_month_and_week_must_both_fit_as_in_celery() -> None:
    first, until = datetime(2026, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)

    found = times("UTC", first, until, minute=0, hour=0, day_of_month=13, day_of_week="fri")

    assert len(found) == 4  # the Fridays of the 13th of these two years


def test_a_leap_day_is_found_eight_years_ahead() -> None:
    leap_day = CrontabTimes.of(
        crontab(minute=0, hour=0, day_of_month=29, month_of_year=2, app=Celery("a", set_as_current=False))
    )

    assert leap_day.next_ms(due_ms(datetime(2096, 3, 1, tzinfo=UTC))) == due_ms(datetime(2104, 2, 29, tzinfo=UTC))


@settings(max_examples=examples(10), deadline=None)
@given(
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 1)),  # noqa: DTZ001  hypothesis wants them naive
    st.sampled_from([BERLIN, "Australia/Lord_Howe", "America/New_York", "Africa/Casablanca", "Asia/Kathmandu", "UTC"]),
    st.sets(st.integers(0, 59), min_size=1, max_size=4),
    st.sets(st.integers(0, 23), min_size=1, max_size=4),
)
def test_each_time_of_day_occurs_once_each_day(start: datetime, zone: str, minutes: set[int], hours: set[int]) -> None:
    tz, all_days = ZoneInfo(zone), frozenset(range(1, 32))
    crontab_times = CrontabTimes(
        frozenset(range(1, 13)),
        all_days,
        frozenset(range(7)),
        tuple(sorted(hours)),
        tuple(sorted(minutes)),
        True,
        tz,
    )
    first = start.replace(tzinfo=UTC)

    at, found = due_ms(first), []
    while (at := crontab_times.next_ms(at) or 0) < due_ms(first + timedelta(days=3)):
        found.append(moment(at).astimezone(tz))

    assert found == sorted(set(found))
    by_day: dict[Any, int] = {}
    for local in found:
        by_day[local.date()] = by_day.get(local.date(), 0) + 1
    assert all(count <= len(minutes) * len(hours) for count in by_day.values())
    fitting = [local for local in found if local.hour in hours and local.minute in minutes]
    assert len(fitting) >= len(found) - 1  # but for one that stands for those of a gap
