"""The page of faults says what the kept runs say."""

from __future__ import annotations

import json
from pathlib import Path

from proof.faults.kept import keep
from proof.faults.page import CALLED, PAGE, tables, written
from proof.faults.rows import ROWS


def test_the_page_says_what_the_kept_runs_say() -> None:
    text = PAGE.read_text()

    assert written(text) == text, "run python -m proof.faults.page"


def test_each_row_has_runs_of_each_broker_that_it_is_played_on() -> None:
    names = [f"| {name} |" for name in CALLED.values()]
    lines = [line for line in PAGE.read_text().splitlines() if any(name in line for name in names)]

    assert len(lines) == sum(len(row.brokers) for row in ROWS)


def test_figures_of_runs_are_added_up_and_the_worst_delay_is_the_worst(tmp_path: Path) -> None:
    run = {
        "broker": "delayhub", "seed": 3, "commit": "abc", "items": 600, "lost": 0, "twice": 2, "early": 0,
        "cancelled": 1, "after_cancel": 0, "stuck": 0, "restarted": 0, "healed": 0, "worst_s": 3.5, "lost_promised": 0,
        "to_run": 30, "load": 1.5,
    }  # fmt: skip
    keep("worker_killed", run, folder=tmp_path)
    other = {**run, "seed": 4, "commit": "def", "worst_s": 1.0, "restarted": 1, "load": 2.5, "to_run": 40, "tries": 2}
    keep("worker_killed", other, folder=tmp_path)
    keep("cut", {**run, "tries": 1, "healed": None}, folder=tmp_path)

    made = tables(folder=tmp_path)

    assert "| DelayHub | 1 | 600 | 30 | 0 | 2 |" in made
    assert "| DelayHub | 2 | 1,200 | 35 | 0 | 4 | 0 | 2 | 0 | 0 | 1 | 0 | 3.5 |" in made
    assert "3 runs, by seeds from 3 to 4, of commits abc, def." in made
    assert "was 1.5 to 2.5, in half of them 1.5 or more. 2 have noted how often" in made
    assert "came to their fault: 1 more than once." in made
    assert [json.loads(line)["seed"] for line in (tmp_path / "worker_killed.jsonl").read_text().splitlines()] == [3, 4]
