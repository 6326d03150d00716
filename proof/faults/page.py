"""Writes the table of docs/explanation/faults.md from the kept runs: ``python -m proof.faults.page``."""

from __future__ import annotations

from pathlib import Path

from proof.faults.kept import FOLDER, added_up, runs_of
from proof.faults.rows import ROWS
from tests.repository import ROOT

PAGE = ROOT / "docs" / "explanation" / "faults.md"
BEGIN, END = "<!-- made by `make faults` -->\n", "<!-- end -->\n"
CALLED = {"delayhub": "DelayHub", "redis": "kombu"}
COLUMNS = (
    "runs",
    "items",
    "lost",
    "twice",
    "early",
    "cancelled",
    "after a cancel",
    "stuck",
    "healed",
    "worst delay, s",
)


def table(*, folder: Path = FOLDER) -> str:
    """The table in Markdown: of each row a line for each broker that has runs."""
    lines = [
        f"| what happens | promise of DelayHub | | {' | '.join(COLUMNS)} |",
        f"|---|---|---|{'--:|' * len(COLUMNS)}",
    ]
    for row in ROWS:
        first = True
        for broker in row.brokers:
            runs = runs_of(row.name, broker, folder=folder)
            if not runs:
                continue
            figures = added_up(runs)
            if broker != "delayhub":
                figures |= dict.fromkeys(("cancelled", "after_cancel", "healed"), "")
            cells = " | ".join(f"{value:,}" if isinstance(value, int) else str(value) for value in figures.values())
            lines.append(
                f"| {row.what if first else ''} | {row.promise if first else ''} | {CALLED[broker]} | {cells} |"
            )
            first = False
    kept = [run for row in ROWS for broker in row.brokers for run in runs_of(row.name, broker, folder=folder)]
    seeds = [run["seed"] for run in kept]
    commits = sorted({run["commit"] for run in kept})
    lines += ["", f"{len(kept):,} runs, by seeds from {min(seeds)} to {max(seeds)}, of commits {', '.join(commits)}."]
    return "\n".join(lines) + "\n"


def written(text: str, *, folder: Path = FOLDER) -> str:
    """The page with the table of the kept runs."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table(folder=folder)}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
