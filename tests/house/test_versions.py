"""The bounds in pyproject.toml are the versions on which `make matrix` passed, as docs/reference/versions.md says."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from delayhub.extras import BOUNDS
from delayhub.local.redis_server import OLDEST
from tests.matrix import ROWS, Row, cells
from tests.repository import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGE = (ROOT / "docs/reference/versions.md").read_text()


def passed() -> list[Row]:
    """The rows that passed, by the page's table."""
    return [row for row in ROWS if re.search(rf"{re.escape(cells(row))} [\d ]+ tests passed, ", PAGE)]


def pinned(name: str) -> Version:
    """What constraints.txt names, on which all tests run."""
    (found,) = re.findall(rf"(?im)^{name}==(.+)$", (ROOT / "constraints.txt").read_text())
    return Version(found)


def bounds(name: str) -> tuple[Version, Version]:
    """From which version on a package may be, and below which."""
    wanted = [*PROJECT["optional-dependencies"]["celery"], *PROJECT["optional-dependencies"]["django"]]
    (found,) = (one for one in map(Requirement, wanted) if one.name.lower() == name)
    by_operator = {part.operator: Version(part.version) for part in found.specifier}
    return by_operator[">="], by_operator["<"]


def test_each_row_of_the_matrix_stands_in_the_page() -> None:
    assert [row.name for row in ROWS if cells(row) not in PAGE] == []


@pytest.mark.parametrize(("name", "field"), [("celery", "celery"), ("kombu", "kombu"), ("redis", "redis_py")])
def test_the_oldest_and_the_newest_that_passed_are_the_bounds(name: str, field: str) -> None:
    versions = sorted(Version(getattr(row, field)) for row in passed())
    oldest, below = bounds(name)

    assert (oldest, versions[-1]) == (versions[0], pinned(name))
    newest = versions[-1].release
    assert below.release == ((newest[0] + 1,) if name == "redis" else (newest[0], newest[1] + 1))


def test_the_bounds_that_the_transport_checks_are_those_of_the_extra() -> None:
    assert {name: tuple(map(Version, pair)) for name, pair in BOUNDS.items()} == {name: bounds(name) for name in BOUNDS}


def test_django_may_be_what_all_tests_run_on_or_what_passed() -> None:
    versions = sorted([pinned("django"), *(Version(row.django) for row in passed() if row.django)])
    oldest, below = bounds("django")

    assert (oldest.release, below.release) == (versions[0].release[:2], (versions[-1].major, versions[-1].minor + 1))
    minors = {f"Framework :: Django :: {version.major}.{version.minor}" for version in versions}
    assert {one for one in PROJECT["classifiers"] if one.startswith("Framework :: Django ::")} == minors


def test_the_pythons_and_the_oldest_server_that_are_named_passed() -> None:
    pythons = {f"Programming Language :: Python :: {row.python}" for row in passed()}

    assert {one for one in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", one)} == pythons
    assert f"Redis {OLDEST[0]}.{OLDEST[1]}" in {row.server for row in passed()}
