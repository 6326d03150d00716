"""A promise of a row is kept, or not, by the figures of a run."""

from __future__ import annotations

import pytest

from proof.faults.kept import added_up
from proof.faults.row import Row
from proof.faults.rows import ROWS

NOTHING = {**added_up([]), "broker": "delayhub"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_stuck_early_or_runs_after_its_cancel_breaks_each_promise(row: Row) -> None:
    assert row.is_kept(NOTHING)
    for figure in ("early", "after_cancel", "stuck"):
        assert not row.is_kept({**NOTHING, figure: 1})


def test_only_a_flush_and_a_master_of_its_own_may_lose_tasks() -> None:
    may_lose = [row.name for row in ROWS if row.is_kept({**NOTHING, "lost": 1})]

    assert may_lose == ["flushed", "split_brain"]
