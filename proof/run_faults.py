"""Plays runs of the fault table, and keeps them where that is asked: ``make faults``."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.processes import run_main
from proof.faults.kept import FOLDER, added_up, keep
from proof.faults.rival_crew import rival_python
from proof.faults.row import NoFault, Row
from proof.faults.rows import ROWS
from tests.repository import ROOT

#: A run that never comes to its fault is played so often: its ports were taken, or the machine was too busy.
TRIES = 3
NO_FAULT = 2


def commit() -> str:
    """The last one that changed the product."""
    command = ["git", "log", "-1", "--format=%h", "--abbrev=8", "--", "delayhub", "tasksapp"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def wanted(asked: argparse.Namespace) -> Iterator[tuple[Row, str, int]]:
    """Row, broker and seed of each run, the rows in turn."""
    for number in range(asked.runs):
        for row in ROWS:
            if row.name in asked.only and number < row.runs and not (row.needs_root and os.geteuid()):
                yield from ((row, broker, asked.seed + number) for broker in row.brokers if broker in asked.brokers)


def play(row: Row, broker: str, seed: int, into: Path) -> None:
    """Plays one run and writes its figures there; in a process of its own, whose processes end with it."""
    with tempfile.TemporaryDirectory(prefix="delayhub-fault-") as folder:
        into.write_text(json.dumps(row.played(Path(folder), broker, seed=seed)))


def main() -> int:
    """0 where each promise was kept."""
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)  # workers of plain Celery: a project would come with it
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each row and broker (default: 3)")
    parser.add_argument("--seed", type=int, default=1, help="of the first (default: 1)")
    parser.add_argument("--at-once", type=int, default=4, help="runs under way (default: 4)")
    parser.add_argument(
        "--brokers", nargs="*", default=["delayhub"], help="delayhub, redis, valkey (default: delayhub)"
    )
    parser.add_argument("--only", nargs="*", default=[row.name for row in ROWS], help="the names of rows")
    parser.add_argument("--keep", action="store_true", help="write them down for the page")
    parser.add_argument("--into", type=Path, default=FOLDER, help="in that folder, not in the page's")
    asked = parser.parse_args()
    if "valkey" in asked.brokers:
        rival_python()  # installed before runs that would do it beside each other
    for row in ROWS:
        if row.needs_root and row.name in asked.only and os.geteuid():
            print(f"{row.name}: cannot run here, since only root has small disks")
    wrong, failed, now, figures = 0, 0, commit(), []
    runs = wanted(asked)
    under_way: dict[int, tuple[tuple[Row, str, int], Path]] = {}
    tries: Counter[Path] = Counter()
    with tempfile.TemporaryDirectory(prefix="delayhub-faults-") as folder:
        os.environ["PYTEST_DELAYHUB_SHARED"] = folder  # what is filled once for all runs is kept there
        more = True
        while more or under_way:
            while more and len(under_way) < asked.at_once:
                following = next(runs, None)
                more = following is not None
                if following is not None:
                    into = Path(folder) / "-".join([following[0].name, *map(str, following[1:])])
                    under_way[_forked(*following, into)] = (following, into)
            if not under_way:
                break
            process, status = os.wait()
            (row, broker, seed), into = under_way.pop(process)
            tries[into] += 1
            if os.waitstatus_to_exitcode(status) == NO_FAULT and tries[into] < TRIES:
                under_way[_forked(row, broker, seed, into)] = ((row, broker, seed), into)
                continue
            if not into.exists():
                failed += 1
                print(f"{row.name} {broker} {seed}: the run itself failed", flush=True)
                continue
            load = round(os.getloadavg()[0], 1)
            played = {**json.loads(into.read_text()), "tries": tries[into], "load": load}
            run = {"broker": broker, "seed": seed, "commit": now, **played}
            figures.append(run)
            kept = broker != "delayhub" or row.is_kept(run)
            wrong += not kept
            print(f"{row.name}: {json.dumps(run)}{'' if kept else '  BROKEN'}", flush=True)
            if asked.keep:
                keep(row.name, run, folder=asked.into)
    print(json.dumps({**added_up(figures), "tries": tries.total(), "broken": wrong, "failed": failed}))
    return 1 if wrong or failed else 0


def _forked(row: Row, broker: str, seed: int, into: Path) -> int:
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        play(row, broker, seed, into)
        code = 0
    except NoFault as error:
        print(f"{row.name} {broker} {seed}: no fault: {error}", file=sys.stderr, flush=True)
        code = NO_FAULT
    except BaseException as error:  # the fork may not go on as if it were its parent
        print(f"{row.name} {broker} {seed}: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(run_main(main))
