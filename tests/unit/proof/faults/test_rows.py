"""A promise of a row is kept, or not, by the figures of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import pytest

from proof.faults.figures import figures
from proof.faults.kept import added_up, runs_of
from proof.faults.row import LEAST_TO_RUN, NoFault, Row
from proof.faults.rows import ROWS

NOTHING = {**added_up([]), "broker": "delayhub"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_stuck_early_or_runs_after_its_cancel_breaks_each_promise(row: Row) -> None:
    assert row.is_kept(NOTHING)
    for figure in ("early", "after_cancel", "stuck"):
        assert not row.is_kept({**NOTHING, figure: 1})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_kept_run_of_delayhub_breaks_a_promise_since_what_they_found_was_mended(row: Row) -> None:
    assert not [run for run in runs_of(row.name, "delayhub") if not row.is_kept(run)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_fault_of_each_kept_run_found_enough_to_harm(row: Row) -> None:
    for broker in row.brokers:
        assert not [run for run in runs_of(row.name, broker) if run["to_run"] < LEAST_TO_RUN]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_figure_that_was_never_noted_keeps_no_promise(row: Row) -> None:
    for figure in row.none:
        with pytest.raises(KeyError, match=figure):
            row.is_kept({name: 0 for name in NOTHING if name != figure})


def test_only_a_flush_and_a_master_of_its_own_may_lose_tasks() -> None:
    may_lose = [row.name for row in ROWS if row.is_kept({**NOTHING, "lost": 1})]

    assert may_lose == ["flushed", "split_brain"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_row_may_lose_what_was_there_for_all_to_keep(row: Row) -> None:
    found = figures({1: 5.0}, [], cancelled={}, left=0, restarted=0, healed=0)

    assert not row.is_kept(found)


def test_a_promise_of_once_is_broken_by_what_runs_twice() -> None:
    once = [row for row in ROWS if not row.is_kept({**NOTHING, "twice": 1})]

    assert {row.name for row in ROWS if "once" in row.promise or "none twice" in row.promise} == {
        row.name for row in once
    }


class Idle:
    """A crew that does nothing, and has so many tasks to run when the fault comes."""

    waiting = 10

    def __init__(self, folder: Path, broker: str, *, seed: int) -> None:
        self.did: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def begin(self) -> None:
        self.did.append("begin")

    def wait_for_some(self) -> None:
        self.did.append("wait")

    def cancel_some(self) -> None:
        self.did.append("cancel")

    def to_run(self) -> set[int]:
        return set(range(self.waiting))

    def judged(self) -> dict[str, Any]:
        return {"did": self.did}


class Done(Idle):
    waiting = 9


class Broken(Idle):
    def begin(self) -> None:
        raise OSError("the port is taken")


def of(kind: type[Idle]) -> Row:
    return Row("row", "what", "promise", lambda crew: crew.did.append("fault"), kind=kind)


def test_a_fault_comes_when_some_have_run_and_finds_enough_to_harm(tmp_path: Path) -> None:
    found = of(Idle).played(tmp_path, "delayhub", seed=1)

    assert found == {"did": ["begin", "wait", "cancel", "fault"], "to_run": 10}


@pytest.mark.parametrize(("kind", "why"), [(Done, "9 were still to run"), (Broken, "the port is taken")])
def test_a_run_that_finds_too_little_or_never_comes_to_its_fault_says_so(
    kind: type[Idle], why: str, tmp_path: Path
) -> None:
    with pytest.raises(NoFault, match=why):
        of(kind).played(tmp_path, "delayhub", seed=1)
