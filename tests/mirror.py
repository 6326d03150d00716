"""Which tests stand for which modules: the tree of tests mirrors the source."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

from tests.repository import ROOT, python_files

MIRRORS = ("tests/unit", "tests/integration")


def mirroring_tests() -> list[Path]:
    """Every Python file of the mirrors: tests, and what stands beside them."""
    return [path for mirror in MIRRORS for path in python_files(mirror)]


def mirrored(test: Path) -> Path:
    """The source folder of a test file's folder."""
    [mirror] = [mirror for mirror in MIRRORS if test.is_relative_to(ROOT / mirror)]
    return ROOT / test.parent.relative_to(ROOT / mirror)


@cache
def names_in(folder: Path) -> set[str]:
    """What tests in a folder's mirror may be named after: its modules and subpackages, and the folder itself."""
    modules = {path.stem for path in folder.glob("*.py") if path.stem != "__init__"}
    return modules | {path.parent.name for path in folder.glob("*/*.py")} | {folder.name}


def named_after(test: Path) -> str | None:
    """The name that a test file has from its source: the longest that fits, ``a_b`` rather than ``a`` and an aspect."""
    words = test.stem.removeprefix("test_")
    fitting = [name for name in names_in(mirrored(test)) if words == name or words.startswith(f"{name}_")]
    return max(fitting, key=len, default=None)


@cache
def named_tests() -> dict[tuple[Path, str], set[Path]]:
    """All tests of the mirrors by the folder and the name of what they test."""
    found = defaultdict(set)
    for test in mirroring_tests():
        if test.name.startswith("test_") and (name := named_after(test)):
            found[mirrored(test), name].add(test)
    return dict(found)


def name_of(module: Path) -> tuple[Path, str]:
    """The folder of a module, and the name that its tests have: an ``__init__.py`` has that of its folder."""
    return module.parent, module.parent.name if module.stem == "__init__" else module.stem
