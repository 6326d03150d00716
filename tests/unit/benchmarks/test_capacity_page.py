"""The capacity page: its tables are those of the kept figures, and are reckoned as they say."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from benchmarks import capacity_page

PARTS = ("create", "deliver", "purge", "vacuum")
FOUND = {
    "commit": "abc1234",
    "load": 0.1,
    "cores": 2,
    "bytes": {"delayhub_job": 800.0, "delayhub_job_pkey": 200.0},
    "one by one": {part: {"WAL": 1_000.0, "CPU": 250.0, "commits": 1.0} for part in PARTS},
    "in batches": {part: {"WAL": 250.0, "CPU": 25.0, "commits": 0.01} for part in PARTS},
}


@pytest.mark.check
def test_the_page_shows_the_figures_that_are_kept() -> None:
    found = json.loads(capacity_page.KEPT.read_text())

    assert (
        f"{capacity_page.BEGIN}\n{capacity_page.tables(found)}\n{capacity_page.END}" in capacity_page.PAGE.read_text()
    )


def test_needs_are_those_of_one_job_times_their_number() -> None:
    rows = [line.split(" | ") for line in capacity_page.tables(FOUND).splitlines()]
    (million,) = [row for row in rows if row[0] == "| 1,000 million"]

    # 386 a second; of each 1 to 4 kB of WAL, 0.04 to 4 commits, 100 to 1 000 µs of CPU; 1 000 bytes kept.
    assert million[1:5] == ["386", "0.39 to 1.5", "15 to 1,543", "0.19 to 1.9"]
    # A vacuum reads all that is kept, whenever three dead rows of each job are a fiftieth of it: 150 kB a job.
    assert million[5] == "57.9"
    assert million[6:] == ["33", "233", "1,000 |"]


def test_the_longer_jobs_are_kept_the_rarer_is_a_vacuum() -> None:
    lines = capacity_page.tables(FOUND).splitlines()

    assert [line for line in lines if line.startswith(("| 1 day |", "| 30 days |"))] == [
        "| 1 day | 0.2 | 4 |",
        "| 30 days | 4.8 | 120 |",
    ]


def test_the_share_that_begins_a_vacuum_is_that_of_the_table() -> None:
    storage = importlib.import_module("tasksapp.migrations.0002_rows").STORAGE

    assert f"autovacuum_vacuum_scale_factor = {capacity_page.SHARE}," in storage["delayhub_job"]


def test_figures_are_kept_beside_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, page = tmp_path / "capacity.json", tmp_path / "capacity.md"
    page.write_text(f"# Capacity\n\n{capacity_page.BEGIN}\nold\n{capacity_page.END}\n\n## More\n")
    monkeypatch.setattr(capacity_page, "KEPT", kept)
    monkeypatch.setattr(capacity_page, "PAGE", page)

    capacity_page.keep(FOUND)

    assert json.loads(kept.read_text()) == FOUND
    assert page.read_text().startswith(
        f"# Capacity\n\n{capacity_page.BEGIN}\nCommit abc1234, at a load of 0.1 on 2 cores."
    )
    assert "old" not in page.read_text()
    assert page.read_text().endswith(f"{capacity_page.END}\n\n## More\n")
