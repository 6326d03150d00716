"""Tables of mistakes: which are tried, and what is told of them."""

from __future__ import annotations

import pytest

from proof.broken import Broken
from proof.catching import asked, catch_all, part
from proof.mutant import Mutant
from proof.plan import Failure, Plan

TABLE = [
    Mutant("caught", "a", "b"),
    Mutant("missed", "a", "c"),
    Mutant("the same", "a", "d", equivalent="nobody can tell"),
    Mutant("caught too", "a", "e"),
]


def caught(mutant: Mutant, most: int) -> tuple[int, Failure[None]] | None:
    """As a run would: in the second history, but for the one that is missed."""
    if mutant.name == "missed":
        return None
    return 2, Failure(Plan(2, None, ()), Broken(f"lost within {most}"), [])


def run(monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    """The code with which a run of the table ends."""
    monkeypatch.setattr("sys.argv", ["run", *options])
    return catch_all(TABLE, caught, asked("run", most=60, about=None))


def test_each_mistake_is_told_with_its_number_and_what_survives_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch) == 1

    assert capsys.readouterr().out.splitlines()[:-1] == [
        "1/4 caught: history 2: lost within 60",
        "2/4 missed: SURVIVES 60",
        "3/4 the same: not run, since nobody can tell",
        "4/4 caught too: history 2: lost within 60",
    ]


def test_a_run_may_be_of_a_part_or_of_a_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--part", "1/3", "--most", "9") == 0
    assert capsys.readouterr().out.splitlines()[:-1] == [
        "1/2 caught: history 2: lost within 9",
        "2/2 caught too: history 2: lost within 9",
    ]

    assert run(monkeypatch, "--only", "missed") == 1
    assert capsys.readouterr().out.startswith("1/1 missed: SURVIVES 60\n")


def test_the_parts_of_a_table_are_all_of_it() -> None:
    assert sorted(n for number in "123" for n in range(10)[part(f"{number}/3")]) == list(range(10))


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b"])
def test_there_is_no_such_part(text: str) -> None:
    with pytest.raises(ValueError):
        part(text)
