"""All unit tests but slow ones, and the tests of what was changed: ``make quick``.

What was changed is what ``git diff`` shows since this branch left ``main``, and files that git does not know yet.
``make quick SINCE=HEAD~3`` names another commit.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from delayhub.engine.scripts import SELDOM, names
from delayhub.engine.scripts import script as named_script
from tests.house.tested_through import TESTED_THROUGH
from tests.mirror import MIRRORS, mirroring_tests, name_of, named_tests
from tests.repository import ROOT, text_of

UNIT = ROOT / "tests" / "unit"
ENGINE = ROOT / "delayhub" / "engine"
SOURCE = ("delayhub", "tasksapp", "templates")
#: Rooms on which so much stands that each of their tests is run.
WHOLE_ROOMS = [ROOT / "tasksapp" / room for room in ("models", "sql", "migrations")]
#: At the root of the app, where the tests of the whole root are run.
WHOLE_ROOT = ROOT / "tasksapp" / "conf.py"
SELECTED = "not slow and not timing and not check and not nightly"


def chosen_for(changed: Path) -> set[Path]:
    """The tests, or folders of tests, of a file that was changed; none where nothing is named after it."""
    if changed.is_relative_to(ROOT / "tests"):
        return _of_a_test(changed)
    if changed.suffix == ".lua":
        return {test for verb in verbs_with(changed) for module in callers_of(verb) for test in _by_name(module)}
    if changed == WHOLE_ROOT:
        return {test for mirror in MIRRORS for test in (ROOT / mirror / "tasksapp").glob("test_*.py")}
    for room in WHOLE_ROOMS:
        if changed.is_relative_to(room):
            return {*_mirrors_of(room), *named_tests().get((room.parent, room.name), ())}
    if not any(changed.is_relative_to(ROOT / room) for room in SOURCE):
        return set()
    return _by_name(changed) if changed.suffix == ".py" else set(_mirrors_of(changed.parent))


def verbs_with(script: Path) -> set[str]:
    """The engine's verbs that a Lua file is, or is a part of."""
    if script.parent.name != "parts":
        return {script.stem}
    return {verb for verb in names() if script.stem in parts_of(verb)}


@cache
def parts_of(verb: str) -> set[str]:
    """The parts that a verb uses, often or seldom."""
    contract = named_script(verb).contract
    return {part for field in ("Uses", SELDOM) for part in contract.get(field, "").split(", ")}


def callers_of(verb: str) -> set[Path]:
    """The modules of the engine that call a verb."""
    return {module for module in ENGINE.glob("*.py") if f'"{verb}"' in text_of(module)}


def _of_a_test(changed: Path) -> set[Path]:
    """A test itself; of what several share, the tests that import it; of fixtures, the tests of their folder."""
    if changed.name.startswith("test_"):
        return {changed} if changed.exists() else set()
    if changed.name == "conftest.py":
        return set(changed.parent.glob("test_*.py"))
    module = changed.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    imports = re.compile(rf"\bfrom {re.escape(module)} import ")
    return {test for test in mirroring_tests() if test.name.startswith("test_") and imports.search(text_of(test))}


def _by_name(module: Path) -> set[Path]:
    named = named_tests().get(name_of(module), set())
    through = TESTED_THROUGH.get(module.relative_to(ROOT).as_posix())
    return named | ({ROOT / through[0]} if through else set())


def _mirrors_of(folder: Path) -> Iterator[Path]:
    for mirror in MIRRORS:
        if (there := ROOT / mirror / folder.relative_to(ROOT)).is_dir():
            yield there


def changed_files(since: str) -> set[Path]:
    """What differs from a commit, or is new; gone files too, whose tests may still be there."""
    listed = _git("diff", "--name-only", "--relative", since) + _git("ls-files", "--others", "--exclude-standard")
    return {ROOT / name for name in listed}


def left_main_at() -> str:
    """The last commit of ``main`` that this branch has, or its newest one where there is no ``main``."""
    for main in ("main", "origin/main"):
        if found := _git("merge-base", "HEAD", main, may_fail=True):
            return found[0]
    return "HEAD"


def _git(*words: str, may_fail: bool = False) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=not may_fail)
    return done.stdout.splitlines() if done.returncode == 0 else []


def main() -> int:
    """Runs the tests; gives pytest's exit code."""
    since, *options = sys.argv[1:]
    found = {changed: chosen_for(changed) for changed in changed_files(since or left_main_at())}
    tests = {test for chosen in found.values() for test in chosen if not test.is_relative_to(UNIT)}
    for name in sorted(changed.relative_to(ROOT).as_posix() for changed, chosen in found.items() if not chosen):
        if name.startswith(SOURCE):
            sys.stdout.write(f"no tests are named after {name}: `make test` has those that use it\n")
    named = sorted(test.relative_to(ROOT).as_posix() for test in tests)
    sys.stdout.write(f"running the unit tests, and: {', '.join(named) or 'no others'}\n")
    sys.stdout.flush()
    command = [sys.executable, "-m", "pytest", "-q", "-m", SELECTED, *options, "tests/unit", *named]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
