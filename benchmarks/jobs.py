"""What does a job cost, from its row to its callback?

Question: bytes in Redis; a fast biz type beside a slow receiver. ``trickle``: what a job costs PostgreSQL,
    Redis, worker and web server that comes one by one, at some rates, or in a burst, how late it is, and what creates
    cost over REST.
Machine: whatever runs it; one core for the worker, the other for PostgreSQL, Redis, the receiver and this program.
Command: make bench NAME=jobs; the trickle of other checkouts beside this one, in turns, each with an environment in its
    .venv: OPTIONS="--against ../other ../another --rounds 5"
Result: a table and one JSON line; with --keep, a row more in benchmarks/history.csv and its table in docs/numbers.md.
Caveat: PostgreSQL with its own defaults (fsync on); other work on the machine shows. Compare ratios within a run.
    How CPU time is told apart: see ``jobs_cost``. The servers' share is more than they would need on cores of their
    own, since they share one with the receiver.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from benchmarks import history, jobs_trickle
from benchmarks.cores import pin
from benchmarks.jobs_bench import Bench, FreshJobs
from benchmarks.jobs_rig import rig
from benchmarks.result import Result, option
from tests.repository import ROOT


def main(asked: argparse.Namespace) -> Result:
    if asked.against:
        compared = jobs_trickle.in_turns(asked)
        history.keep(compared if asked.keep else {})
        return jobs_trickle.table(compared)
    found: dict[str, Any] = {"jobs": asked.jobs}
    began = time.monotonic()
    with ExitStack() as stack:
        bench: Bench | None = None
        for name in asked.only:
            print(f"{time.monotonic() - began:4.0f} s  {name} …", file=sys.stderr, flush=True)
            if name == TRICKLE:
                found |= jobs_trickle.measured(ROOT, asked)
                continue
            if bench is None:
                made = stack.enter_context(rig(DELAYHUB_NEAR_WINDOW_SECONDS="3600"))
                pin(0)
                bench = Bench(made)
            found |= PARTS[name](bench, asked)
    history.keep({jobs_trickle.commit_of(ROOT): found} if asked.keep else {})
    return Result(found)


def memory(bench: Bench, asked: argparse.Namespace) -> dict[str, Any]:
    """What Redis holds for each job, inside the near window and beyond it."""
    from tasksapp.models import Job

    code = bench.biz_type("held", "ok/held")
    with bench.rig.redis.client() as client:
        client.flushall()
        before = client.info("memory")["used_memory"]
        bench.create_due(code, asked.jobs, timezone.now() + timedelta(minutes=40), spread_seconds=600)
        near = client.info("memory")["used_memory"] - before
        client.flushall()
        before = client.info("memory")["used_memory"]
        bench.create_due(code, asked.jobs, timezone.now() + timedelta(hours=5))
        far = client.info("memory")["used_memory"] - before
    Job.objects.all().delete()
    return {
        "Redis bytes/job": round(near / asked.jobs, 1),
        "Redis bytes/job beyond the window": round(far / asked.jobs, 2),
    }


def slow(bench: Bench, asked: argparse.Namespace) -> dict[str, Any]:
    """A fast biz type's lateness alone, and beside jobs at 50/s whose receiver takes ten seconds."""
    fast = bench.biz_type("fast", "ok/fast")
    with bench.rig.worker():
        fresh = FreshJobs(bench, fast, per_second=100)
        fresh.run(asked.seconds)
        found = fresh.lateness("fast jobs alone")
        code = bench.biz_type("slow", "slow/one", port=bench.rig.start_receiver(), timeout_seconds=30)
        bench.create_due(code, int(50 * asked.seconds), timezone.now(), spread_seconds=asked.seconds)
        fresh = FreshJobs(bench, fast, per_second=100)
        fresh.run(asked.seconds)
        found |= fresh.lateness("beside a slow one")
        bench.wait_until_ended(code)
    return found


#: What there is to measure, in this order.
PARTS: dict[str, Callable[[Bench, argparse.Namespace], dict[str, Any]]] = {
    "memory": memory,
    "slow": slow,
}

#: The part that has processes of its own, since it looks at them from outside.
TRICKLE = "trickle"


OPTIONS = [
    option("--jobs", 20_000, "due at one moment"),
    option("--rounds", 3, "of bursts and plain tasks, or of checkouts, in turn; medians count"),
    option("--seconds", 10.0, "of steady load"),
    option("--trickle", [20, 200, 1_000], "jobs a second that are due one by one", nargs="*"),
    option("--creates", [20, 200], "single creates a second over REST", nargs="*"),
    option("--only", [*PARTS, TRICKLE], nargs="*", choices=[*PARTS, TRICKLE]),
    option("--against", type=Path, nargs="*", metavar="CHECKOUT", help="the trickle of these, too, in turns"),
    option("--keep", action="store_true", help="write the figures of the trickle down"),
]
