"""How many calls, statements and round trips does each important path make?

Question: what does a task cost from publish to acknowledgement, and a job from its create to its outcome, counted in
    calls of our Python functions, calls of C functions by ours, calls of all Python functions, SQL statements, and
    writes to sockets (round trips to Redis)?
Machine: whatever runs it: counts are the same on a busy machine. They belong to the versions in ``constraints.txt``.
Command: make bench NAME=calls, and OPTIONS='--keep "why they changed"' adds them to ``benchmarks/calls.jsonl``
Result: a line for each path, then one JSON line; exit code 1 if a path has grown since the last kept counts.
Caveat: counts of tasks depend a little on how many messages each claim finds, so the least of several takes counts.
    With a prefetch of 4 they depend on it much: they are shown and not compared.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from benchmarks.calls_tasks import PATHS
from benchmarks.result import Result, option
from delayhub.local.redis_server import RedisServer
from tests.repository import ROOT

KEPT = ROOT / "benchmarks" / "calls.jsonl"
#: The counts of a path may differ by so much from run to run. All Python calls are mostly those of libraries.
ALLOWED = {"python": 1.0, "c": 1.0, "total": 3.0, "sends": 0.5, "statements": 0.5}
#: Measurements of which the least counts.
TAKES = 6
DATABASES = ("sqlite", "postgresql")
SECONDS = 180.0
#: What the processes that are measured know of their environment.
ENVIRONMENT = {"PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "DELAYHUB_REDIS_SERVER"}

Counts = Mapping[str, Mapping[str, float]]


def measured(tasks: Iterable[str] = PATHS, databases: Iterable[str] = DATABASES) -> dict[str, dict[str, float]]:
    """Return the counts of each path, by its name: those of tasks, then those of jobs on each database."""
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(_of_task, name) for name in tasks]
        by_database = {database: pool.submit(_printed, "benchmarks.calls_jobs", database) for database in databases}
    found: dict[str, dict[str, float]] = {}
    for run in runs:
        found |= {name: counts for name, counts in run.result().items() if name not in found}
    for database, run in by_database.items():
        found |= {f"{name}, {database}": counts for name, counts in run.result().items()}
    return found


def least(one: Counts, other: Counts) -> dict[str, dict[str, float]]:
    """Return the lesser of each count; those of paths that only one has as they are."""
    return {
        name: {measure: min(count, other.get(name, counts)[measure]) for measure, count in counts.items()}
        for name, counts in one.items()
    }


def changes_since(before: Counts) -> list[str]:
    """Measure, and return a sentence for each count that has grown, and each path that is new or gone.

    Paths that have grown are measured again: on a busy machine more claims find fewer messages each. For the same
    reason a count that has fallen is no fault; the next line that is kept has it.
    """
    found = measured()
    for _ in range(TAKES - 1):
        grown = " ".join(growth(before, found))
        if not grown:
            break
        tasks = [name for name in PATHS if f"{name}: " in grown]
        found = least(found, measured(tasks, [name for name in DATABASES if f", {name}: " in grown]))
    return growth(before, found)


def growth(before: Counts, now: Counts) -> list[str]:
    """Return the sentences of :func:`changes` but for counts that have fallen."""
    return [each for each in changes(before, now) if " fell from " not in each]


def kept() -> list[dict[str, Any]]:
    """Return the kept lines, the newest last: ``paths``, ``why``, ``commit``, ``date`` and ``versions``."""
    return [json.loads(line) for line in KEPT.read_text().splitlines()]


def changes(before: Counts, now: Counts) -> list[str]:
    """Return a sentence for each count that has grown or fallen."""
    said = [f"{name} is not counted any more" for name in before if name not in now]
    for name, counts in now.items():
        if name not in before:
            said.append(f"{name} was not counted before")
            continue
        slack = PATHS[name].slack if name in PATHS else 0.0
        for measure, count in counts.items():
            was = before[name].get(measure, 0.0)
            if abs(count - was) > max(ALLOWED[measure], slack * was):
                said.append(f"{name}: {measure} {'grew' if count > was else 'fell'} from {was:g} to {count:g}")
    return said


def keep(found: Counts, why: str) -> None:
    """Append a line to the kept file."""
    line = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",  # noqa: TID251  the day of the run
        "after": subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True).strip(),
        "versions": versions(),
        "why": why,
        "paths": found,
    }
    with KEPT.open("a") as file:
        file.write(json.dumps(line) + "\n")


def versions() -> dict[str, str]:
    """Return the versions that the counts depend on."""
    libraries = {name: importlib.metadata.version(name) for name in ("celery", "kombu", "Django", "redis")}
    return {"python": ".".join(map(str, sys.version_info[:2])), **libraries}


def main(given: argparse.Namespace) -> Result:
    found = measured()
    if given.keep:
        for _ in range(TAKES - 1):
            found = least(found, measured(databases=()))
        keep(found, given.keep)
    said = changes(kept()[-1]["paths"], found)
    print("\n".join(said), file=sys.stderr)
    by_measure = {measure: {name: counts.get(measure, "") for name, counts in found.items()} for measure in ALLOWED}
    return Result(by_measure, not growth(kept()[-1]["paths"], found))


def _of_task(name: str) -> dict[str, dict[str, float]]:
    with RedisServer() as server:
        return _printed("benchmarks.calls_tasks", name, server.url.replace("redis://", "delayhub://"))


def _printed(module: str, *words: str) -> dict[str, dict[str, float]]:
    # Settings of tests, and modules that they put in the place of others, would change the counts.
    environment = {name: value for name, value in os.environ.items() if name in ENVIRONMENT}
    run = subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if run.returncode or not run.stdout:
        raise RuntimeError(f"{module} {' '.join(words)} ended with {run.returncode}: {run.stderr[-2000:]}")
    found: dict[str, dict[str, float]] = json.loads(run.stdout.splitlines()[-1])
    return found


OPTIONS = (option("--keep", "", "keep the counts, with the reason why they changed"),)
