"""Whether the database is away is judged in one place, which knows standbys, and not by the class of an exception."""

from __future__ import annotations

import ast

import pytest

from tests.repository import ROOT, tree_of

#: Files that look for one error of their own, or only read, and why that is enough.
EXPECTED = {
    "sql/driver/deadline.py": "a statement that took too long",
    "sql/claim_keys.py": "a lock that was waited for too long",
    "admin/biz_types/test_call.py": "an error of kombu, not of the database",
    "task_backends/delayed_task.py": "it reads the names of tables",
    "transfer/mover.py": "what changed meanwhile; all else ends the move, which can be repeated",
}


@pytest.mark.check
def test_no_handler_takes_the_class_of_an_error_for_a_database_that_is_away() -> None:
    found = {
        path.relative_to(ROOT / "tasksapp").as_posix()
        for path in (ROOT / "tasksapp").rglob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler) and node.type and "OperationalError" in ast.unparse(node.type)
    }

    assert found == EXPECTED.keys()
