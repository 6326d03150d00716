"""Tests stand where their modules do, under their names, and every module that does something has some.

A module needs a test of its name as soon as it does something: as soon as it defines a function or a method whose body
is more than a docstring, ``...`` or ``pass``. Pure declarations (constants, dataclasses, tables of addresses) and
migrations need none. An ``__init__.py`` that does something is tested under its folder's name.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house.tested_through import TESTED_THROUGH
from tests.mirror import MIRRORS, mirrored, mirroring_tests, name_of, named_after, named_tests
from tests.repository import ROOT, functions_of, python_files, text_of, tree_of

SOURCE = ("delayhub", "tasksapp")

MODULES = python_files(*SOURCE)
TESTS = mirroring_tests()


def does_something(module: Path) -> bool:
    """Whether the module defines a function or a method with a body."""
    return any(not is_empty(statement) for function in functions_of(module) for statement in function.body)


def is_empty(statement: ast.stmt) -> bool:
    """``pass``, ``...`` or a docstring."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def test_every_folder_of_tests_is_a_folder_of_the_source() -> None:
    strange = {str(test.parent.relative_to(ROOT)) for test in TESTS if not any(mirrored(test).glob("*.py"))}

    assert strange - set(MIRRORS) == set()


def test_every_test_file_is_named_after_what_it_tests() -> None:
    strange = [str(test.relative_to(ROOT)) for test in TESTS if test.name.startswith("test_") and not named_after(test)]

    assert strange == []


def test_every_module_that_does_something_has_a_test_of_its_name() -> None:
    untested = {
        str(module.relative_to(ROOT))
        for module in MODULES
        if does_something(module) and name_of(module) not in named_tests()
    }

    assert untested - set(TESTED_THROUGH) == set(), "each needs a test of its name, or a line in tested_through.py"
    assert set(TESTED_THROUGH) - untested == set(), "these lines of tested_through.py are not needed"


@pytest.mark.parametrize("module", TESTED_THROUGH)
def test_a_module_without_a_test_of_its_name_is_named_by_the_test_that_covers_it(module: str) -> None:
    covering, why = TESTED_THROUGH[module]
    text = text_of(ROOT / covering)
    public = [
        node.name
        for node in tree_of(ROOT / module).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]

    assert why
    assert Path(module).stem in text or any(name in text for name in public)
