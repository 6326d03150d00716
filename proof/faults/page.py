"""Writes the tables of docs/explanation/faults.md from the kept runs: ``python -m proof.faults.page``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median

from proof.faults.job_rows import JOB_ROWS
from proof.faults.kept import FOLDER, added_up, runs_of
from proof.faults.row import Row
from proof.faults.rows import ROWS
from proof.faults.task_rows import TASK_ROWS
from tests.repository import ROOT

PAGE = ROOT / "docs" / "explanation" / "faults.md"
BEGIN, END = "<!-- made by `make faults` -->\n", "<!-- end -->\n"
CALLED = {"delayhub": "DelayHub", "redis": "kombu", "valkey": "celery-redis-plus"}
TABLES = {"Tasks": TASK_ROWS, "Jobs": JOB_ROWS}
#: By the figures that they show.
COLUMNS = {
    "runs": "runs", "items": "items", "to_run": "to run in each", "lost": "lost", "twice": "twice", "early": "early",
    "cancelled": "cancelled", "after_cancel": "after a cancel", "stuck": "stuck", "restarted": "ended",
    "healed": "healed", "worst_s": "worst delay, s",
}  # fmt: skip


def table(rows: Sequence[Row], *, folder: Path = FOLDER) -> str:
    """A table in Markdown: of each row a line for each broker that has runs."""
    lines = [
        f"| what happens | promise of DelayHub | | {' | '.join(COLUMNS.values())} |",
        f"|---|---|---|{'--:|' * len(COLUMNS)}",
    ]
    for row in rows:
        first = True
        for broker in row.brokers:
            runs = runs_of(row.name, broker, folder=folder)
            if not runs:
                continue
            figures = added_up(runs)
            if broker != "delayhub":
                figures |= dict.fromkeys(("cancelled", "after_cancel", "healed"), "")
            figures["to_run"] = round(mean(run["to_run"] for run in runs))
            shown = [figures[name] for name in COLUMNS]
            cells = " | ".join(f"{value:,}" if isinstance(value, int) else str(value) for value in shown)
            lines.append(
                f"| {row.what if first else ''} | {row.promise if first else ''} | {CALLED[broker]} | {cells} |"
            )
            first = False
    return "\n".join(lines) + "\n"


def tables(*, folder: Path = FOLDER) -> str:
    """Both tables, and of which runs they are."""
    kept = [run for row in ROWS for broker in row.brokers for run in runs_of(row.name, broker, folder=folder)]
    seeds = [run["seed"] for run in kept]
    commits = ", ".join(sorted({run["commit"] for run in kept}))
    loads = [run["load"] for run in kept]
    tries = [run["tries"] for run in kept if "tries" in run]
    said = (
        f"{len(kept):,} runs, by seeds from {min(seeds)} to {max(seeds)}, of commits {commits}. The load of the"
        f" machine (two cores) was {min(loads):.1f} to {max(loads):.1f}, in half of them {median(loads):.1f} or more."
        f" {len(tries):,} have noted how often they were begun until they came to their fault:"
        f" {sum(count > 1 for count in tries)} more than once."
    )
    parts = [f"## {name}\n\n{table(rows, folder=folder)}" for name, rows in TABLES.items()]
    return "\n".join([*parts, said]) + "\n"


def written(text: str, *, folder: Path = FOLDER) -> str:
    """The page with the tables of the kept runs."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{tables(folder=folder)}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
