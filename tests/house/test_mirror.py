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
from tests.repository import ROOT, functions_of, python_files, text_of, tree_of

SOURCE = ("delayhub", "tasksapp")
MIRRORS = ("tests/unit", "tests/integration")

MODULES = python_files(*SOURCE)
TESTS = [path for mirror in MIRRORS for path in python_files(mirror)]


def mirrored(test: Path) -> Path:
    """The source folder of a test file's folder."""
    [mirror] = [mirror for mirror in MIRRORS if test.is_relative_to(ROOT / mirror)]
    return ROOT / test.parent.relative_to(ROOT / mirror)


def names_in(folder: Path) -> set[str]:
    """What tests in a folder's mirror may be named after: its modules and subpackages, and the folder itself."""
    modules = {path.stem for path in folder.glob("*.py") if path.stem != "__init__"}
    return modules | {path.parent.name for path in folder.glob("*/*.py")} | {folder.name}


def named_after(test: Path) -> str | None:
    """The name that a test file has from its source: the longest that fits, ``a_b`` rather than ``a`` and an aspect."""
    words = test.stem.removeprefix("test_")
    fitting = [name for name in names_in(mirrored(test)) if words == name or words.startswith(f"{name}_")]
    return max(fitting, key=len, default=None)


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
    tested = {(mirrored(test), named_after(test)) for test in TESTS if test.name.startswith("test_")}
    untested = {
        str(module.relative_to(ROOT))
        for module in MODULES
        if does_something(module)
        and (module.parent, module.parent.name if module.stem == "__init__" else module.stem) not in tested
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
