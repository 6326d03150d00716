"""Statements that are prepared once per connection, also where a pooler changes the server's side of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import ProgrammingError, connection, transaction

from tasksapp.sql.driver.prepared import PreparedStatement

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql_only]

SQL = "SELECT %(n)s + 1, %(word)s, %(n)s"
TYPES = {"n": "bigint", "word": "text"}


@pytest.fixture(autouse=True)
def _own_connection() -> Iterator[None]:
    connection.close()
    yield
    connection.close()


def run(sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall()) if cursor.description else []


def prepared() -> int:
    """How many statements the server has for this connection."""
    return int(run("SELECT count(*) FROM pg_prepared_statements")[0][0])


def test_it_is_prepared_at_the_second_use_of_a_connection() -> None:
    statement = PreparedStatement(SQL, TYPES)
    counts = []
    for n in range(4):
        assert statement.rows(connection, {"n": n, "word": "it's %s"}) == [(n + 1, "it's %s", n)]
        counts.append(prepared())
    assert counts == [0, 1, 1, 1]

    connection.close()
    assert statement.rows(connection, {"n": 1, "word": ""}) == [(2, "", 1)]
    assert prepared() == 0


def test_a_server_connection_that_does_not_know_it_gets_the_statement_itself() -> None:
    statement = PreparedStatement(SQL, TYPES)
    for word in ("first", "second"):
        statement.rows(connection, {"n": 1, "word": word})
    run("DEALLOCATE ALL")

    for _ in range(2):
        assert statement.rows(connection, {"n": 1, "word": "third"}) == [(2, "third", 1)]
    assert prepared() == 0


def test_a_server_connection_that_knows_it_already_is_used() -> None:
    for _ in range(2):  # as from two processes
        statement = PreparedStatement(SQL, TYPES)
        for n in range(3):
            assert statement.rows(connection, {"n": n, "word": "w"}) == [(n + 1, "w", n)]
    assert prepared() == 1


def test_a_transaction_is_never_spoiled_by_a_name_that_is_missing() -> None:
    statement = PreparedStatement(SQL, TYPES)
    for word in ("first", "second"):
        statement.rows(connection, {"n": 1, "word": word})
    run("DEALLOCATE ALL")

    with transaction.atomic():
        assert statement.rows(connection, {"n": 1, "word": "third"}) == [(2, "third", 1)]
        assert run("SELECT 1") == [(1,)]


def test_a_plan_that_no_longer_fits_the_table_is_given_up() -> None:
    run("CREATE TEMPORARY TABLE planned (a int)")
    run("INSERT INTO planned VALUES (1)")
    statement = PreparedStatement("SELECT * FROM planned WHERE a >= %(least)s", {"least": "int"})
    for _ in range(2):
        assert statement.rows(connection, {"least": 1}) == [(1,)]

    run("ALTER TABLE planned ADD COLUMN b int")

    assert statement.rows(connection, {"least": 1}) == [(1, None)]


def test_an_error_of_the_statement_is_raised() -> None:
    statement = PreparedStatement("SELECT * FROM no_such_table WHERE %(n)s = 1", {"n": "int"})
    for _ in range(2):
        with pytest.raises(ProgrammingError, match="no_such_table"):
            statement.rows(connection, {"n": 1})
