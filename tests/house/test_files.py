"""One noun per file, and few lines of it."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib.metadata import distributions

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.repository import ROOT, python_files, text_files, text_of

USUAL_LINES = 300
MOST_LINES = 400
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "core", "base", "manager", "misc"}

#: What a commit must not hold, each with the reason.
BANNED_TEXT = [
    # a package comes from whatever index the reader's pip is set to
    re.compile(r"--(?:extra-)?index-url|--find-links|pypi\.org/simple|files\.pythonhosted\.org"),
    # a path of one machine is wrong on all others
    re.compile(r"(?<![\w.])/(?:home|Users)/\w+|(?<![\w.])/(?:root|work)/"),
]


def test_nine_files_in_ten_have_at_most_300_lines_and_none_more_than_400() -> None:
    sizes = {str(path.relative_to(ROOT)): text_of(path).count("\n") for path in python_files()}

    assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}
    long = {name: size for name, size in sizes.items() if size > USUAL_LINES}
    assert len(long) <= len(sizes) / 10, long


def test_no_file_has_a_name_that_says_nothing() -> None:
    named = {str(path.relative_to(ROOT)) for path in python_files() if path.stem.strip("_") in BANNED_NAMES}

    assert named == set()


@pytest.mark.parametrize("banned", BANNED_TEXT, ids=["index-urls", "machine-paths"])
def test_no_file_holds(banned: re.Pattern[str]) -> None:
    found = {
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in text_files()
        if path.name != "test_files.py" and banned.search(text := path.read_text(errors="replace"))
        for number, line in enumerate(text.splitlines(), 1)
        if banned.search(line)
    }

    assert found == set()


def test_git_holds_no_link_and_nothing_that_it_is_to_ignore() -> None:
    """A link to an environment, made to save space, would lead nowhere on other machines."""
    held = tracked("--stage").splitlines()

    assert len(held) > 2000
    assert [line for line in held if line.startswith("120000 ")] == []
    assert tracked("--cached", "--ignored", "--exclude-standard") == ""


def tracked(*options: str) -> str:
    """What git says of the files that it holds."""
    return subprocess.check_output(["git", "ls-files", *options], cwd=ROOT, text=True)


def test_every_dependency_is_pinned_to_one_version() -> None:
    pins = (ROOT / "constraints.txt").read_text().split()

    assert pins == sorted(pins, key=str.lower)
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+", pin)] == []


def packages_of(name: str) -> dict[tuple[str, str], str]:
    """The blocks of a file of requirements, by package and version."""
    blocks = re.split(r"^(?=\S)", (ROOT / "requirements" / f"{name}.txt").read_text(), flags=re.MULTILINE)
    return {pin_of(block.split()[0]): block for block in blocks if block}


def pin_of(text: str) -> tuple[str, str]:
    package, _, version = text.partition("==")
    return canonicalize_name(package), version


@pytest.mark.parametrize("name", ["build", "standalone", "embedded", "dev"])
def test_every_package_that_make_installs_has_hashes_and_the_version_that_is_pinned(name: str) -> None:
    pins, blocks = set(map(pin_of, (ROOT / "constraints.txt").read_text().split())), packages_of(name)

    # What only other platforms or Pythons need is not installed here, so nothing pins it.
    elsewhere = {pin for pin, block in blocks.items() if re.search(r"sys_platform ==|python_full_version <", block)}
    assert blocks
    assert set(blocks) - pins - elsewhere == set(), "run: python -m tests.locked"
    assert [pin for pin, block in blocks.items() if "--hash=sha256:" not in block] == []


def test_all_that_the_project_depends_on_is_listed_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = {package for package, _ in packages_of("dev")}

    wanted = {Requirement(one).name for extra in project["optional-dependencies"].values() for one in extra}

    assert {canonicalize_name(name) for name in wanted} - listed == {"delayhub"}, "run: python -m tests.locked"


def test_what_builds_the_package_is_pinned_as_all_else() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]

    assert set(wanted) <= set((ROOT / "constraints.txt").read_text().split())


def test_every_pinned_version_can_be_installed_on_the_oldest_python() -> None:
    """Debian 12 has Python 3.11.2: what wants a later 3.11 stops ``make demo`` and ``make test`` there."""
    pins = {Requirement(pin) for pin in (ROOT / "constraints.txt").read_text().split()}
    versions = {canonicalize_name(pin.name): str(pin.specifier) for pin in pins}
    installed = [one for one in distributions() if versions.get(canonicalize_name(one.name)) == f"=={one.version}"]
    wanted = {one.name: SpecifierSet(str(one.metadata.json.get("requires_python", ""))) for one in installed}

    assert len(wanted) > len(pins) / 2
    assert {name: str(pythons) for name, pythons in wanted.items() if not pythons.contains("3.11.0")} == {}


def test_every_suppressed_complaint_has_a_code_and_a_reason() -> None:
    suppressed = re.compile(r"#\s*(?:type:\s*ignore|noqa)\b.*")
    with_code_and_reason = re.compile(r"#\s*(?:type:\s*ignore\[[\w, -]+\]|noqa:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)\s+\S+")
    bare = {
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in python_files()
        if path.name != "test_files.py"
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if suppressed.search(line) and not with_code_and_reason.search(line)
    }

    assert bare == set()
