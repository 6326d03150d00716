"""What is installed by default is nothing, each extra brings what is looked for, and pages name extras that exist."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from delayhub.errors import INSTALL_PAGE
from delayhub.extras import MODULES
from tests.repository import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
#: A command that installs this distribution: a path, a wheel or its name, perhaps with extras.
INSTALLS = re.compile(
    r"""pip install "?(?:\.|\.\./\.\.|\S*/delayhub|\S*delayhub-[\w.-]+\.whl|delayhub)(?:\[([\w,]+)\])?(?=["`\s]|$)"""
)


def brought(extra: str) -> set[str]:
    """The distributions that an extra brings itself."""
    return {canonicalize_name(Requirement(line).name) for line in EXTRAS[extra]} - {PROJECT["name"]}


def test_installing_the_distribution_installs_nothing_else() -> None:
    assert PROJECT["dependencies"] == []


@pytest.mark.parametrize("extra", MODULES)
def test_the_modules_that_are_looked_for_are_those_of_the_packages_that_the_extra_brings(extra: str) -> None:
    homes = packages_distributions()

    found = {canonicalize_name(homes[name][0]) for name in MODULES[extra] if name != "opentelemetry"}

    shared = {"opentelemetry-api"} if "opentelemetry" in MODULES[extra] else set()  # several packages have that module
    assert found | shared == brought(extra)


def test_every_extra_for_users_is_looked_for() -> None:
    others = {"dev", "docs", "embedded"}  # a missing server is told by RedisServerMissing, the site is no part of it
    assert set(EXTRAS) - set(MODULES) == others


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_line_that_installs_names_an_extra_or_says_that_it_is_for_receivers(page: Path) -> None:
    lines = page.read_text().splitlines()

    wrong = [
        line
        for line in lines
        for extras in INSTALLS.findall(line)
        if not set(extras.split(",")) <= set(EXTRAS) and not (extras == "" and "receivers" in line)
    ]

    assert wrong == []


def test_the_pages_have_such_lines() -> None:
    found = {extra for page in PAGES for extra in INSTALLS.findall(page.read_text())}

    assert {"celery", "django", "standalone", "cli", ""} <= found


def test_a_missing_extra_is_told_with_the_page_that_has_a_line_for_it() -> None:
    page = (ROOT / INSTALL_PAGE.partition("/blob/main/")[2]).read_text()

    assert set(MODULES) | {"embedded"} <= set(re.findall(r"[\[,`]([a-z]+)(?=[\],`])", page))
