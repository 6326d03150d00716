"""A statement by libpq keeps its plan, and is run also where the plan is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import ProgrammingError, connection

from tasksapp import jobs
from tasksapp.models import ApiKey, BizType, Job
from tasksapp.sql.driver.single_statement import SingleStatement

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql_only]


@pytest.fixture(autouse=True)
def _no_plans() -> Iterator[None]:
    """A connection that has kept no plan and lost none, before and after."""
    connection.close()
    connection.ensure_connection()
    yield
    connection.close()


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def plans() -> int:
    """How many of ours the connection keeps."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'delayhub%%'")
        (found,) = cursor.fetchone()
    return int(found)


def test_values_come_as_text_and_the_plan_is_kept_from_the_second_use_on() -> None:
    query = SingleStatement("SELECT 1, NULL, $1::text")

    kept = []
    for _ in range(3):
        assert query.rows(connection, ["ä"]) == [["1", None, "ä"]]
        kept.append(plans())

    assert kept == [0, 1, 1]


def test_no_row_is_no_row() -> None:
    assert SingleStatement("SELECT 1 WHERE $1::int = 2").rows(connection, [1]) == []


def test_a_plan_that_another_connection_of_a_pooler_has_is_not_missed() -> None:
    query = SingleStatement("SELECT $1::int")
    for number in range(3):
        query.rows(connection, [number])

    execute("DEALLOCATE ALL")

    assert [query.rows(connection, [number]) for number in range(2)] == [[["0"]], [["1"]]]
    assert plans() == 0, "it would be lost again"


def test_a_create_whose_plan_is_lost_is_stored_once(biz_type: BizType) -> None:
    for _ in range(2):
        jobs.create(biz_type.code)
    assert plans() == 1
    execute("DEALLOCATE ALL")

    made = [jobs.create(biz_type.code) for _ in range(2)]

    assert all(one.created for one in made)
    assert Job.objects.count() == 4
    assert plans() == 0, "it would be lost again"


def test_a_plan_that_is_there_already_is_used() -> None:
    before, after = SingleStatement("SELECT $1::int"), SingleStatement("SELECT $1::int")
    for _ in range(2):
        before.rows(connection, [1])

    assert [after.rows(connection, [number]) for number in range(3)] == [[["0"]], [["1"]], [["2"]]]
    assert plans() == 1


def test_a_plan_that_a_migration_made_invalid_is_left() -> None:
    ApiKey.objects.create(name="shop", prefix="dh_1", hashed_key="a")
    query = SingleStatement("SELECT prefix FROM delayhub_api_key WHERE name = $1")
    for _ in range(2):
        assert query.rows(connection, ["shop"]) == [["dh_1"]]

    execute("ALTER TABLE delayhub_api_key ALTER COLUMN prefix TYPE text")
    try:
        assert query.rows(connection, ["shop"]) == [["dh_1"]]
    finally:
        execute("ALTER TABLE delayhub_api_key ALTER COLUMN prefix TYPE varchar(16)")


def test_errors_are_djangos_whenever_they_come() -> None:
    query = SingleStatement("SELECT no_such WHERE $1::int = 1")

    for _ in range(3):
        with pytest.raises(ProgrammingError, match="no_such"):
            query.rows(connection, [1])


def test_an_error_of_a_planned_query_is_raised_too() -> None:
    query = SingleStatement("SELECT 1 / $1::int")
    for _ in range(2):
        query.rows(connection, [1])

    with pytest.raises(Exception, match="division by zero"):
        query.rows(connection, [0])
    assert query.rows(connection, [1]) == [["1"]]
