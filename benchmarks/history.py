"""The figures of jobs over commits: a row a run in ``history.csv``, and the newest of them as a table in the docs.

Machines differ, so each row has the speed of the one that made it: rows with like speeds can be compared.
Where a figure grows from commit to commit at one speed, the code has grown dear.
"""

from __future__ import annotations

import csv
import hashlib
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from tests.repository import ROOT

ROWS = ROOT / "benchmarks" / "history.csv"
PAGE = ROOT / "docs" / "explanation" / "numbers.md"
RATES, OF_RATES = (20, 200, 1000), ("PostgreSQL", "Redis", "worker", "late p50 ms", "late p99 ms")
#: What is kept of a run, by the names that ``jobs_trickle`` gives.
FIGURES = (
    *(f"{rate}/s, {what}" for rate in RATES for what in OF_RATES),
    *("creates 200/s, PostgreSQL", "creates 200/s, web server", "creates, single, web server"),
    *("burst, callbacks/s", "burst, PostgreSQL", "burst, worker", "burst, worker: outcomes"),
    *("idle, PostgreSQL, ms/s", "idle, worker, ms/s"),
)  # fmt: skip
COLUMNS = ("date", "commit", "speed", *FIGURES)
#: Between these lines of the page is its table.
BEGIN, END = "<!-- history: make bench NAME=jobs OPTIONS=--keep -->", "<!-- end of history -->"
#: So many rows are on the page, the newest last.
SHOWN = 12


def keep(found: Mapping[str, Mapping[str, float]]) -> None:
    """Appends a row for each commit, and brings the page up to date."""
    about = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "speed": speed()}  # noqa: TID251  the day of the run
    with ROWS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writerows({**figures, **about, "commit": commit} for commit, figures in found.items())
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}")


def table() -> str:
    """The newest rows, a column each, as Markdown."""
    with ROWS.open(newline="") as file:
        rows = list(csv.DictReader(file))[-SHOWN:]
    lines = [f"| | {' | '.join(row['commit'] for row in rows)} |", f"|---|{'---|' * len(rows)}"]
    lines += [f"| {name} | {' | '.join(row[name] for row in rows)} |" for name in COLUMNS if name != "commit"]
    return "\n".join(lines)


def speed() -> int:
    """How often this machine does a piece of Python and of C in a second of CPU: the best of some tries."""
    best = 0.0
    for _ in range(5):
        began = time.process_time()
        for number in range(10_000):
            text = json.dumps({"id": number, "body": ["the customer did not pay"] * 4})
            hashlib.sha256(str(sorted(json.loads(text))).encode() * 20).hexdigest()
        best = max(best, 10_000 / (time.process_time() - began))
    return round(best)
