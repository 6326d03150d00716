"""Does a job cost as much CPU in a cell beside which another one is as busy?

Question: cells share nothing, so what does a job cost in a site beside which another one is as busy, compared with one
    alone? A burst is created in bulk and delivered: of the one site, of the other, and of both at the same moment.
Machine: whatever runs it; each site, PostgreSQL and Redis with it, has one core.
Command: make bench NAME=cells
Result: µs of CPU that a job costs in each part, medians of the rounds, and one JSON line; exit code 1 where a
    job costs more CPU in both at once than 2 / 1.9 times what it costs alone.
Caveat: only CPU a job is compared, since other programs may use the cores: nothing is said of jobs a second. It grows a
    little by what they take of the caches.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

from django.utils import timezone

from benchmarks.cores import OTHER_CORE, WORKER_CORE
from benchmarks.jobs_bench import Bench
from benchmarks.jobs_cost import Processes
from benchmarks.jobs_rig import rig
from benchmarks.result import Result, option
from benchmarks.sites import Answers, Site

WANTED = 1.9
PARTS = ("create", "PostgreSQL", "Redis", "worker")


@contextlib.contextmanager
def site() -> Iterator[Answers]:
    """A site with a worker."""
    with rig() as made:
        bench = Bench(made)
        code = bench.biz_type("cells", "ok/cells")
        with made.worker() as worker:
            yield {"burst": partial(burst, bench, code, worker)}


def burst(bench: Bench, code: str, worker: Processes, *, jobs: int, delay: float) -> dict[str, float]:
    """µs of CPU that each of so many jobs costs; they are due after so many seconds, or as soon as they are created."""
    bench.rig.forget_seen()
    due = timezone.now() + timedelta(seconds=delay)
    before, own = worker.cpu_seconds(), time.process_time()
    bench.create_due(code, jobs, due)
    spent = {"create": time.process_time() - own}
    bench.wait_until_seen(jobs)
    bench.wait_until_ended(code)
    spent |= worker.cpu_seconds() - before
    return {part: spent[part] / jobs * 1e6 for part in PARTS}


def main(asked: argparse.Namespace) -> Result:
    rounds: dict[str, list[dict[str, float]]] = {"alone": [], "both": []}
    with Site(site, core=WORKER_CORE) as first, Site(site, core=OTHER_CORE) as second:
        for number in range(asked.rounds + 1):
            for alone in ((first,), (second,)), ((first, second),):
                found = []
                for at_once in alone:
                    for one in at_once:
                        one.begin("burst", jobs=asked.jobs, delay=asked.delay)
                    found += [one.end() for one in at_once]
                if number:  # the first round only warms up
                    rounds["alone" if len(alone) > 1 else "both"] += found
            print(number, {name: list(map(_sum, each[-2:])) for name, each in rounds.items()}, file=sys.stderr)
    cost = {
        name: {part: statistics.median(one[part] for one in each) for part in PARTS} for name, each in rounds.items()
    }
    whole = {name: statistics.median(map(_sum, each)) for name, each in rounds.items()}
    times = 2 * whole["alone"] / whole["both"]
    found = {
        name: {f"{part}, µs a job": round(value) for part, value in cost[name].items()}
        | {"all, µs a job": round(whole[name]), "times one": round(times if name == "both" else 1, 2)}
        for name in rounds
    }
    found["both"]["load"] = round(os.getloadavg()[0], 1)
    return Result(found, times >= WANTED)


def _sum(one: dict[str, Any]) -> int:
    return round(sum(one.values()))


OPTIONS = [
    option("--jobs", 5_000, "of a burst"),
    option("--rounds", 6),
    option("--delay", 3.0, "seconds until a burst is due; less than its creation takes spreads it"),
]
