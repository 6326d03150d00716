"""Statements take their status words from transitions, so that every change of a status is one of the table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasksapp.models import Status
from tests.repository import ROOT, tree_of

STATEMENTS = sorted((ROOT / "tasksapp" / "sql").rglob("*.py"))
WORDS = "|".join(Status.values)


def status_words(tree: ast.Module) -> Iterator[str]:
    """The status literals of a module, as Python has them or quoted in SQL, and members of ``Status``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(rf"\A(?:{WORDS})\Z|'(?:{WORDS})'", node.value)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Status":
            yield ast.unparse(node)


@pytest.mark.parametrize("path", STATEMENTS, ids=lambda path: path.stem)
def test_a_statement_takes_its_status_words_from_transitions(path: Path) -> None:
    assert list(status_words(tree_of(path))) == []


@pytest.mark.parametrize(
    "source",
    [
        "jobs.filter(status='pending')",
        "jobs.update(status=Status.DEAD)",
        "UPDATE = \"UPDATE delayhub_job SET status = 'running'\"",
        "UPDATE = f\"UPDATE {table} SET status = 'cancelled'\"",
    ],
)
def test_a_status_literal_is_found(source: str) -> None:
    assert len(list(status_words(ast.parse(source)))) == 1
