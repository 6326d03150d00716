"""Each test is run by one of `make check`, `make test` and `make nightly`, and the night runs all that the day does."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest
from _pytest.mark.expression import Expression

from benchmarks.run import runs
from tests import nightly
from tests.matrix import ROWS
from tests.nightly import CHAOS, MIDDLE, Step, heavy_targets, steps
from tests.repository import ROOT, text_of
from tests.unit.delayhub import test_wall_clock_zones

MAKEFILE = (ROOT / "Makefile").read_text()
MARKS = ("timing", "check", "nightly", "slow")


def recipe(target: str) -> str:
    """The lines of a command."""
    return re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]  # type: ignore[index]  # else it fails


def expressions(*texts: str) -> list[str]:
    """What follows ``-m`` where all tests, or those of the source, are chosen on SQLite."""
    lines = [line for text in texts for line in text.splitlines() if "postgresql" not in line]
    return [quoted or bare for line in lines for quoted, bare in re.findall(r'-m (?:"([^"]+)"|(timing|check)\b)', line)]


def is_taken(marks: tuple[str, ...], chosen: list[str]) -> bool:
    return any(Expression.compile(one).evaluate(lambda name, **_: name in marks) for one in chosen)


BY_DAY = expressions(recipe("check"), recipe("test"))
BY_NIGHT = [*expressions(recipe("check")), "timing", nightly.ON_SQLITE]


@pytest.mark.parametrize("marks", [each for count in range(3) for each in combinations(MARKS, count)], ids=str)
def test_every_test_is_run_by_day_unless_it_is_for_the_night_which_runs_them_all(marks: tuple[str, ...]) -> None:
    assert len(BY_DAY) == 3
    if marks != ("timing", "check"):  # none is both
        assert is_taken(marks, BY_DAY) or "nightly" in marks
        assert is_taken(marks, BY_NIGHT)


def test_what_runs_on_postgresql_by_day_runs_there_by_night() -> None:
    assert f'-m "{nightly.ON_POSTGRESQL} and not nightly"' in recipe("test")
    rooms = re.search(r"^ROOMS_ON_POSTGRESQL := \$\(addprefix (\S+),(.*)\)$", MAKEFILE, re.MULTILINE)
    assert rooms is not None
    assert [room for room in rooms[2].split() if not (ROOT / rooms[1] / room).is_dir()] == []


def test_tests_of_the_database_are_integration_tests_which_the_night_runs_on_postgresql() -> None:
    folders = [path for path in (ROOT / "tests").iterdir() if path.is_dir()]
    rooms = [folder for folder in folders if folder.name not in {"integration", "browser"}]
    asking = [
        str(path.relative_to(ROOT))
        for room in rooms
        for path in room.rglob("*.py")
        if re.search(r"mark\.django_db|mark\.database|\b(transactional_db|live_server|db): ", path.read_text())
    ]

    assert len(rooms) >= 4
    assert asking == []


def test_a_mark_of_the_source_is_found_by_make_check() -> None:
    marked = [path for path in (ROOT / "tests").rglob("test_*.py") if "mark.check" in text_of(path)]

    unseen = [path.name for path in marked if not re.search(r"^@pytest\.mark\.check$", text_of(path), re.MULTILINE)]
    assert [name for name in unseen if name != Path(__file__).name] == []


def test_the_night_runs_all_that_kills_races_or_guesses_and_knows_the_options_of_each() -> None:
    assert set(MIDDLE) <= set(heavy_targets())
    assert set(heavy_targets()) | {f"chaos-{name}" for name in runs("chaos")} < {step.name for step in steps(2)}
    for target, words in MIDDLE.items():
        assert f"$({words.partition('=')[0]})" in recipe(target), target
    for name, words in CHAOS.items():
        taken = text_of(runs("chaos")[name])
        assert [option for option in re.findall(r"--[a-z-]+", words) if f'"{option}"' not in taken] == [], name
    rows = [row.name for row in ROWS]
    assert set(MIDDLE["matrix"].partition("=")[2].split()) == {"oldest", "newest"} <= set(rows)


def test_eight_nights_in_a_row_take_all_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, days = int(MIDDLE["calendars"].partition("=")[2]), []
    zones = [str(number) for number in range(100)]
    monkeypatch.setattr(test_wall_clock_zones, "PARTS", parts)
    for day in range(parts):
        clock = SimpleNamespace(now_ms=lambda day=day: (20_000 + day) * 86_400_000)
        monkeypatch.setattr(test_wall_clock_zones, "SystemClock", lambda clock=clock: clock)
        days.append(set(test_wall_clock_zones.part_of_the_day(zones)))

    assert parts == 8
    assert set().union(*days) == set(zones)
    assert sum(map(len, days)) == len(zones)


def test_make_help_is_one_screen() -> None:
    lines = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert len(lines) <= 27
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("kind", ["bench", "chaos"])
def test_a_run_that_there_is_not_is_told_which_there_are(kind: str) -> None:
    found = subprocess.run(
        ["make", kind, "NAME=nonsense", f"BIN={Path(sys.executable).parent}", "--assume-old=.venv/.dev"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert found.returncode == 2
    named = re.findall(r"^  ([a-z-]+) +\S", found.stderr, re.MULTILINE)
    assert named == sorted(runs(kind))
    assert len(named) >= 5


def test_each_file_of_a_run_says_its_name() -> None:
    asked = [path for path in (ROOT / "benchmarks").glob("*.py") if "\nCommand: make " in text_of(path)]

    named = [path for kind in ("bench", "chaos") for path in runs(kind).values()]
    assert {path.name for path in asked} == {path.name for path in named}


def test_a_step_that_hangs_is_ended_and_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "LOGS", tmp_path)

    result = nightly.run(Step("hanging", ("sleep", "3600")), longest_seconds=0.1)

    assert not result.passed
    assert result.seconds < 3600


def test_a_step_that_fails_does_not_end_the_night(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(nightly, "LOGS", tmp_path)
    monkeypatch.setattr(nightly, "ROOT", tmp_path)
    python = (sys.executable, "-c")
    night = [
        Step("wrong", (*python, "print('why'); raise SystemExit(2)")),
        Step("right", (*python, "pass")),
    ]
    monkeypatch.setattr(nightly, "steps", lambda workers: night)

    code = nightly.main([])

    said = re.findall(r"^(\w+) +\d+ (\w+)", capsys.readouterr().out.rpartition("step ")[2], re.MULTILINE)
    assert said == [("wrong", "failed"), ("right", "passed")]
    assert (tmp_path / "wrong.log").read_text() == "why\n"
    assert code == 1
