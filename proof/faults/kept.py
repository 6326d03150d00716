"""The runs that are kept in the repository: a file for each row, a line of JSON for each run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "kept"
#: What is added up over runs.
SUMMED = (
    "items", "to_run", "lost", "lost_promised", "twice", "early", "cancelled", "after_cancel", "stuck", "restarted",
    "healed",
)  # fmt: skip


def runs_of(name: str, broker: str, *, folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The kept runs of a row on a broker, in order; none where there is no file."""
    path = folder / f"{name}.jsonl"
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [run for run in found if run["broker"] == broker]


def keep(name: str, run: Mapping[str, Any], *, folder: Path = FOLDER) -> None:
    """Adds a run."""
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.jsonl").open("a") as file:
        file.write(json.dumps(run, separators=(",", ":")) + "\n")


def added_up(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of several runs: sums, and the worst delay. Only DelayHub says what it healed."""
    sums = {name: sum(run[name] or 0 for run in runs) for name in SUMMED}
    return {"runs": len(runs), **sums, "worst_s": max((run["worst_s"] for run in runs), default=0.0)}
