"""Is a table of ten million rows as quick as an empty one?

Question: jobs created at 200 a second, half of them due at once: how late are they, and what do they cost, in a site
    with so many rows, of which four in five have ended, and in an empty one, in turns; and in the filled one beside a
    purge of half of its rows? How long does the purge take, and how long do lists of jobs over REST?
Machine: whatever runs it; one core for the workers; some 1.2 GB of disk and a minute or two for each million rows.
Command: make bench NAME=filled; make bench NAME=explain asks about each statement and page of the admin
Result: a table with a column for each state, medians of the rounds, and one JSON line.
Caveat: CPU counts where other programs use the machine. PostgreSQL's includes creates, and beside the purge that, too.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from django.utils import timezone

from benchmarks.cores import CORES, pin
from benchmarks.explain_rows import fill
from benchmarks.jobs_bench import Bench, FreshJobs
from benchmarks.jobs_cost import Processes
from benchmarks.jobs_rig import rig
from benchmarks.processes import start
from benchmarks.result import Result, option
from benchmarks.sites import Answers, Site

#: Half a year of jobs was filled in, evenly.
FILLED_DAYS = 180
#: How often each list is asked for; the quickest counts, since others may use the machine.
TRIES = 5
STATUSES = ("pending", "running", "dead", "succeeded", "cancelled")


@contextlib.contextmanager
def site(rows: int) -> Iterator[Answers]:
    """A site with so many rows, whose worker delivers fresh jobs."""
    with rig(DELAYHUB_PURGE_ROWS_PER_MINUTE="0") as made:
        pin(0)
        bench = Bench(made)
        from tasksapp.models import UNTIL_RESUMED, BizType, Job

        seconds = fill(rows, biz_types=50)
        others = BizType.objects.filter(code__startswith="kind.")
        others.update(paused_until=UNTIL_RESUMED, retention=None)
        Job.objects.filter(status="running").update(lease_until=timezone.now() + timedelta(days=1))
        bench.say(f"{rows:,} rows filled in {seconds} s")
        code = bench.biz_type("fresh", "ok/fresh")
        with made.worker() as worker:
            yield {
                "fill s": lambda: seconds,
                "fresh": partial(fresh, bench, code, worker),
                "lists": partial(lists, "kind.7"),
                "purge": partial(purge, bench, code, worker, others),
            }


def fresh(
    bench: Bench, code: str, worker: Processes, *, rate: float, seconds: float | None, until: Any = lambda: False
) -> dict[str, Any]:
    """How late fresh jobs are, and µs of CPU that each costs."""
    made = FreshJobs(bench, code, per_second=rate, creators=4)
    before = worker.cpu_seconds()
    made.run(seconds, until=until)
    spent: Counter[str] = worker.cpu_seconds() - before
    late = made.lateness("late")
    count = late.pop("fresh jobs late")
    cost = {f"{who}, µs": round(spent[who] / count * 1e6) for who in ("PostgreSQL", "Redis", "worker")}
    return {"jobs": count, "jobs/s": round(count / made.seconds), **late, **cost}


def purge(bench: Bench, code: str, worker: Processes, biz_types: Any, *, share: float, rate: float) -> dict[str, Any]:
    """The same beside the command that deletes that share of what was filled in."""
    from tasksapp.models import Job

    biz_types.update(retention=timedelta(days=FILLED_DAYS * (1 - share)))
    made, began = bench.rig, time.monotonic()
    log = made.folder / "purge.log"
    command = start(["manage.py", "purge_jobs"], log=log, **made.environment)
    found = fresh(bench, code, worker, rate=rate, seconds=None, until=lambda: command.poll() is not None)
    bench.say(log.read_text()[-200:])
    return found | {"purge s": round(time.monotonic() - began), "jobs left": Job.objects.count()}


def lists(code: str) -> dict[str, float]:
    """ms that pages of the list of jobs take over REST, the quickest of some tries."""
    from django.test import Client

    from tasksapp.access.keys import issue_key
    from tasksapp.models import Job, Tenant

    client = Client(
        headers={"host": "127.0.0.1", "authorization": f"Bearer {issue_key('lists', tenant=Tenant.objects.get()).key}"}
    )
    one = Job.objects.filter(biz_type__code=code).order_by("id")[0]
    queries = {"": "", "biz_type": f"biz_type={code}", "biz_id": f"biz_type={code}&biz_id={one.biz_id}"}
    for status in STATUSES:
        queries |= {status: f"status={status}", f"{status}, biz_type": f"status={status}&biz_type={code}"}
    found = {}
    for name, query in queries.items():
        took = []
        for _ in range(TRIES):
            began = time.perf_counter()
            answer = client.get(f"/api/v1/jobs?{query}")
            took.append(time.perf_counter() - began)
            assert answer.status_code == 200, answer.content
        found[f"list {name}, ms".replace(" ,", ",")] = round(min(took) * 1000, 1)
    return found


def main(asked: argparse.Namespace) -> Result:
    rounds: dict[str, list[Mapping[str, Any]]] = {"empty": [], "filled": []}
    with Site(site, rows=100) as empty, Site(site, rows=asked.rows) as filled:
        sites = {"empty": empty, "filled": filled}
        about = {name: {"fill s": one.ask("fill s"), "load": _load()} for name, one in sites.items()}
        time.sleep(asked.settle)
        for _ in range(asked.rounds):
            for name, one in sites.items():
                rounds[name].append(one.ask("fresh", rate=asked.rate, seconds=asked.seconds))
                print(name, rounds[name][-1], file=sys.stderr, flush=True)
        found = {name: about[name] | _medians(rounds[name]) | sites[name].ask("lists") for name in sites}
        found["purged"] = filled.ask("purge", share=asked.purged, rate=asked.rate) | {"load": _load()}
    return Result(found)


def _medians(rounds: list[Mapping[str, Any]]) -> dict[str, float]:
    return {name: round(statistics.median(each[name] for each in rounds), 1) for name in rounds[0]}


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f} on {len(CORES)}"


OPTIONS = [
    option("--rows", 10_000_000),
    option("--rate", 200.0, "fresh jobs a second"),
    option("--rounds", 4, "in each of the two sites, in turns"),
    option("--seconds", 20.0, "of each"),
    option("--settle", 20.0, "seconds until they begin"),
    option("--purged", 0.6, "share of what has ended that the purge deletes"),
]
