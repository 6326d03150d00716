"""A statement that takes too long is ended, where the database can do that."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import OperationalError, connection

from tasksapp.sql.count_jobs import long_statement, read_time

pytestmark = pytest.mark.django_db(transaction=True)

AT = datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)


@pytest.mark.postgresql_only
def test_postgresql_ends_it_and_knows_no_limit_afterwards() -> None:
    with pytest.raises(OperationalError), long_statement(using="default", timeout_seconds=0.05) as cursor:
        cursor.execute("SELECT pg_sleep(5)")

    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone()[0] == "0"


def test_a_short_one_gives_its_rows() -> None:
    with long_statement(using="default", timeout_seconds=5) as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone()[0] == 1


@pytest.mark.parametrize("value", [AT, "2026-01-02 03:04:05.600000", "2026-01-02T03:04:05.6+00:00"])
def test_a_time_is_the_same_from_both_databases(value: datetime | str) -> None:
    assert read_time(value) == AT
    assert read_time(None) is None
