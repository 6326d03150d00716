"""A statement that takes too long is ended, and the next one is not."""

from __future__ import annotations

import pytest
from django.db import connection

from tasksapp.sql.count_jobs import long_statement
from tasksapp.sql.driver.deadline import TookTooLong

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.postgresql_only
def test_postgresql_ends_it_and_knows_no_limit_afterwards() -> None:
    with pytest.raises(TookTooLong), long_statement(using="default", timeout_seconds=0.05) as cursor:
        cursor.execute("SELECT pg_sleep(5)")

    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone()[0] == "0"


def test_a_short_one_gives_its_rows() -> None:
    with long_statement(using="default", timeout_seconds=5) as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone()[0] == 1
