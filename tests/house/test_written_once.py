"""Each helper of the tests and benchmarks is written once, and lives where all that need it can import it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from tests.repository import ROOT, python_files

#: A body of fewer statements may stand twice: to share it would cost more lines than it has.
LEAST_STATEMENTS = 3
#: The names of modules that nothing else imports.
OWN_ALONE = r"tests\.(?:\w+\.)*(?:conftest|test_\w+)"


def functions_of(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def body_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """The statements without the docstring."""
    return function.body[1:] if ast.get_docstring(function) is not None else function.body


def test_no_two_functions_of_the_tests_and_benchmarks_have_the_same_body() -> None:
    places = defaultdict(list)
    for path in python_files("tests", "benchmarks"):
        for function in functions_of(path):
            body = body_of(function)
            if (
                sum(isinstance(node, ast.stmt) for statement in body for node in ast.walk(statement))
                >= LEAST_STATEMENTS
            ):
                place = f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
                places["\n".join(map(ast.dump, body))].append(place)

    assert [found for found in places.values() if len(found) > 1] == []


def test_nothing_is_imported_from_a_conftest_or_a_test() -> None:
    importing = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files("tests", "benchmarks")
        if re.search(rf"\bfrom\s+{OWN_ALONE}\s", source := path.read_text())  # few need to be parsed
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and re.fullmatch(OWN_ALONE, node.module or "")
    }

    assert importing == set(), "fixtures come by themselves; a type or a helper belongs in a module"
