"""Each helper of the tests and benchmarks is written once, and lives where all that need it can import it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from tests.repository import ROOT, functions_of, python_files, text_of, tree_of

#: A body of fewer statements may stand twice: to share it would cost more lines than it has.
LEAST_STATEMENTS = 3
#: The names of modules that nothing else imports.
OWN_ALONE = r"tests\.(?:\w+\.)*(?:conftest|test_\w+)"


def body_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """The statements without the docstring."""
    return function.body[1:] if ast.get_docstring(function) is not None else function.body


def statements_in(body: list[ast.stmt]) -> int:
    return sum(isinstance(node, ast.stmt) for statement in body for node in ast.walk(statement))


def test_no_two_functions_of_the_tests_and_benchmarks_have_the_same_body() -> None:
    places = defaultdict(list)
    for path in python_files("tests", "benchmarks"):
        for function in functions_of(path):
            body = body_of(function)
            if len(body) >= LEAST_STATEMENTS or statements_in(body) >= LEAST_STATEMENTS:
                place = f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
                places["\n".join(map(ast.dump, body))].append(place)

    assert [found for found in places.values() if len(found) > 1] == []


def test_nothing_is_imported_from_a_conftest_or_a_test() -> None:
    importing = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files("tests", "benchmarks")
        if re.search(rf"\bfrom\s+{OWN_ALONE}\s", text_of(path))  # few need to be parsed
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and re.fullmatch(OWN_ALONE, node.module or "")
    }

    assert importing == set(), "fixtures come by themselves; a type or a helper belongs in a module"
