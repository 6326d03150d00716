"""PostgreSQL's own microseconds of a moment are exact."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection

from tasksapp.sql.read_values import Moments, unix_microseconds

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only]


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=UTC),
    ],
)
def test_a_moment_comes_back_to_the_microsecond(moment: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {unix_microseconds('%s::timestamptz')}", [moment])
        (found,) = cursor.fetchone()

    assert Moments()[found] == moment
