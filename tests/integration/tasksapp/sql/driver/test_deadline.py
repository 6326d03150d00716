"""A statement that takes too long is ended, and the connection goes on."""

from __future__ import annotations

import time

import pytest
from django.db import OperationalError, connection, transaction

from tasksapp.sql.driver.deadline import TookTooLong, within

#: Counts for hours.
ENDLESS = """
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000000000000)
SELECT count(*) FROM numbers
"""


def count_for_ever() -> None:
    with connection.cursor() as cursor:
        cursor.execute(ENDLESS)


def answer() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        [number] = cursor.fetchone()
    return int(number)


@pytest.mark.django_db(transaction=True)
def test_it_is_ended_in_time_and_the_next_one_is_not() -> None:
    began = time.monotonic()

    with pytest.raises(TookTooLong), within(0.2, using="default"):
        count_for_ever()

    assert time.monotonic() - began < 10
    assert answer() == 1


@pytest.mark.django_db
def test_the_transaction_around_it_goes_on_without_a_bound() -> None:
    with transaction.atomic():
        with pytest.raises(TookTooLong), within(0.2, using="default"):
            count_for_ever()
        with within(0.2, using="default"):
            assert answer() == 1
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SHOW statement_timeout")
                assert cursor.fetchone() == ("0",)


@pytest.mark.django_db
def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(OperationalError, match="elsewhere"), within(5, using="default"):
        raise OperationalError("elsewhere")
