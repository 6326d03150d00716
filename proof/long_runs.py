"""Long runs of histories that are kept: prints the tables that docs/explanation/proof.md has of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from proof.jobs import sometimes as of_jobs
from proof.messages import sometimes as of_messages

#: A line of JSON for each: what a run of :mod:`proof.simulate` or :mod:`proof.simulate_jobs` ended with, of which sort,
#: from which commit and seeds, and its seconds of CPU with Redis and PostgreSQL.
KEPT = Path(__file__).parent / "long_runs.jsonl"
SORTS = {"messages": "messages", "jobs": "jobs with rows", "postgresql": "jobs on PostgreSQL"}
#: What a run of each must come by.
ASKED = {
    "messages": len(of_messages.Sometimes), "jobs": len(of_jobs.Sometimes), "postgresql": len(of_jobs.Sometimes),
}  # fmt: skip
#: So many of the situations that a run must come by are shown: those that came seldom.
RAREST = 6


def runs_of(sort: str) -> list[dict[str, Any]]:
    """The kept runs of one sort, in order."""
    return [run for line in KEPT.read_text().splitlines() if (run := json.loads(line))["sort"] == sort]


def met(sort: str) -> Counter[str]:
    """How often each situation was met in all of them."""
    found: Counter[str] = Counter()
    for run in runs_of(sort):
        found.update(run["met"])
    return found


def tables() -> str:
    """How many histories were played, and what they came by seldom, as a page has it."""
    lines = [
        "| histories of | played | seeds | verbs | kinds of failure | situations met | CPU each |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for sort, words in SORTS.items():
        runs = runs_of(sort)
        count = sum(run["histories"] for run in runs)
        broken = sum(len(run["kinds of failure"]) for run in runs)
        ms = 1000 * sum(run["cpu_with_redis"] for run in runs) / count
        seeds = f"{_grouped(runs[0]['first'])} to {_grouped(runs[-1]['last'])}"
        verbs, came_by = sum(run["verbs"] for run in runs), f"{len(met(sort))} of {ASKED[sort]}"
        lines.append(
            f"| {words} | {_grouped(count)} | {seeds} | {_grouped(verbs)} | {broken} | {came_by} | {ms:.0f} ms |"
        )
    lines += ["", "| what they came by seldom | in histories of | times |", "|---|---|--:|"]
    for sort, words in SORTS.items():
        rarest = sorted(met(sort).items(), key=lambda one: (one[1], one[0]))[:RAREST]
        lines += [f"| {what} | {words} | {_grouped(times)} |" for what, times in rarest]
    return "\n".join(lines)


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


if __name__ == "__main__":
    print(tables())
