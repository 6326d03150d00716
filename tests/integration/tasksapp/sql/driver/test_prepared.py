"""Statements that are prepared once per connection, also where a pooler changes the server's side of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import ProgrammingError, connection, transaction

from tasksapp.sql.driver.prepared import PreparedStatement, StatementByIds

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


def test_a_plan_that_takes_long_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an import: a plan that was made while the table was empty reads all of it."""
    run("CREATE TEMPORARY TABLE filled (id bigint PRIMARY KEY, word text)")
    statement = PreparedStatement(
        "SELECT word FROM filled WHERE id = ANY(ARRAY[%(a)s, %(b)s])", dict.fromkeys("ab", "bigint")
    )
    for _ in range(8):
        assert statement.rows(connection, {"a": 1, "b": 2}) == []
    before = run("SELECT prepare_time FROM pg_prepared_statements")
    run("INSERT INTO filled SELECT n, 'w' FROM generate_series(1, 100) AS n")

    monkeypatch.setattr(statement, "_slow_seconds", -1.0)
    assert statement.rows(connection, {"a": 1, "b": 2}) == [("w",), ("w",)]
    assert prepared() == 0
    monkeypatch.undo()
    for _ in range(2):
        assert statement.rows(connection, {"a": 1, "b": 2}) == [("w",), ("w",)]

    assert run("SELECT prepare_time FROM pg_prepared_statements") > before


def test_a_run_that_takes_long_is_no_error_where_a_pooler_has_changed_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statement = PreparedStatement("SELECT %(n)s, (SELECT count(*) FROM pg_prepared_statements)", {"n": "bigint"})
    for _ in range(2):
        statement.rows(connection, {"n": 1})
    monkeypatch.setattr(statement, "_slow_seconds", -1.0)
    monkeypatch.setattr(statement, "_name", "a_name_that_is_not_there")

    assert statement.rows(connection, {"n": 1}) == [(1, 1)]
    assert statement.rows(connection, {"n": 1}) == [(1, 1)]


def test_an_error_of_the_statement_is_raised() -> None:
    statement = PreparedStatement("SELECT * FROM no_such_table WHERE %(n)s = 1", {"n": "int"})
    for _ in range(2):
        with pytest.raises(ProgrammingError, match="no_such_table"):
            statement.rows(connection, {"n": 1})


def test_one_plan_serves_all_claims_of_a_few_ids_and_finds_just_these() -> None:
    run("CREATE TEMPORARY TABLE known (id uuid PRIMARY KEY)")
    run("INSERT INTO known SELECT gen_random_uuid() FROM generate_series(1, 3000)")
    run("ANALYZE known")
    ids: list[UUID] = [row[0] for row in run("SELECT id FROM known LIMIT 40")]
    statement = StatementByIds("SELECT id FROM known WHERE id = ANY(%(ids)s::uuid[])", {})

    for count in [1, 2, 3, 5, 8, 9, 20, 32, 33, 40] * 8:
        found = statement.rows(connection, [*ids[:count], uuid4()][-count:], {})

        # The id that is not there took the place of the first.
        assert sorted(row[0] for row in found) == sorted(ids[1:count])

    plans = run("SELECT generic_plans, custom_plans FROM pg_prepared_statements")
    assert len(plans) == 3
    for generic, custom in plans:
        assert custom <= 5 < generic + custom


def test_no_ids_find_no_rows() -> None:
    statement = StatementByIds("SELECT 1 WHERE gen_random_uuid() = ANY(%(ids)s::uuid[])", {})

    assert statement.rows(connection, [], {}) == []
