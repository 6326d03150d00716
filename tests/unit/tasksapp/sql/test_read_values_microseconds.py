"""Moments come back from PostgreSQL as whole microseconds, to the last of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tasksapp.sql.read_values import (
    Moments,
    from_unix_microseconds,
    unix_microseconds,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "moment",
    [
        EPOCH,
        datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC),
        # before the epoch, and the first and last moments there are
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
    ],
)
def test_a_moment_is_the_same_in_microseconds(moment: datetime) -> None:
    unix_us = (moment - EPOCH) // timedelta(microseconds=1)

    assert from_unix_microseconds(unix_us) == Moments()[unix_us] == moment


def test_no_moment_is_none_and_the_same_moment_is_made_once() -> None:
    moments = Moments()

    assert moments[None] is None
    assert moments[7] is moments[7]


def test_the_expression_names_what_it_is_about() -> None:
    assert unix_microseconds("j.due_at") == "(extract(epoch FROM j.due_at) * 1000000)::bigint"
