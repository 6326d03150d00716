"""Moments as whole microseconds, both ways and to the last one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tasksapp.sql.driver.microseconds import Moments, postgresql_microseconds, unix_microseconds

MOMENTS = [
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC),
    # a float of seconds could not hold this one
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
]


def unix_us(moment: datetime) -> int:
    return (moment - MOMENTS[0]) // timedelta(microseconds=1)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_number_becomes_the_moment_it_came_from(moment: datetime) -> None:
    assert Moments()[unix_us(moment)] == moment


def test_null_stays_none() -> None:
    assert Moments()[None] is None


def test_each_moment_is_made_once() -> None:
    moments = Moments()

    assert moments[5] is moments[5]
    assert len(moments) == 1


@pytest.mark.parametrize("moment", MOMENTS)
def test_postgresql_counts_from_the_year_2000(moment: datetime) -> None:
    epoch = datetime(2000, 1, 1, tzinfo=UTC)

    assert epoch + timedelta(microseconds=postgresql_microseconds(moment)) == moment


def test_the_zone_of_a_moment_does_not_matter() -> None:
    here = MOMENTS[1].astimezone(timezone(timedelta(hours=2)))

    assert postgresql_microseconds(here) == postgresql_microseconds(MOMENTS[1])


def test_the_expression_names_what_it_is_about() -> None:
    assert unix_microseconds("j.due_at") == "(extract(epoch FROM j.due_at) * 1000000)::bigint"
