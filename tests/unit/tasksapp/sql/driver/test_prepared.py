"""A statement by ids says how it finds its rows; otherwise the one for a single id could not be made of it."""

import pytest

from tasksapp.sql.driver.prepared import StatementByIds


@pytest.mark.parametrize(
    "sql",
    [
        # the marker is missing, or written in another way
        "SELECT 1 FROM job WHERE id = 1",
        "SELECT 1 FROM job WHERE id = any(%(ids)s::uuid[])",
        "SELECT 1 FROM job WHERE id = ANY(%(ids)s)",
        # another use of the ids beside it
        "SELECT 1 FROM job WHERE id = ANY(%(ids)s::uuid[]) AND cardinality(%(ids)s) > 1",
    ],
)
def test_a_statement_that_does_not_find_its_rows_by_the_marker_is_refused(sql: str) -> None:
    with pytest.raises(ValueError, match=r"must stand in '= ANY"):
        StatementByIds(sql, {})


def test_a_statement_that_finds_its_rows_by_the_marker_is_taken() -> None:
    statement = StatementByIds("SELECT 1 FROM job WHERE id = ANY(%(ids)s::uuid[])", {})

    assert statement.sql.endswith("= ANY(%(ids)s::uuid[])")
