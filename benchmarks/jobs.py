"""What does a job cost, from its row to its callback?

Question: creates a second (bulk, single), in Python and over REST with the web server on one core; callbacks a second
    when many are due at once (all taken, all failing) beside a plain Celery task that posts with ``requests``, and who
    spends how much CPU on each; lateness at a steady rate; bytes in Redis; a fast biz type beside a slow receiver; how
    all that grows with what is pending; what a backlog that is paused costs; and how soon jobs fire after Redis has
    lost everything.
Machine: whatever runs it; one core for the worker, the other for PostgreSQL, Redis, the receiver and this program.
Command: make bench NAME=jobs
Result: a table and one JSON line.
Caveat: PostgreSQL with its own defaults (fsync on); other work on the machine shows. Compare ratios within a run.
    How CPU time is told apart: see ``jobs_cost``. The servers' share is more than they would need on cores of their
    own, since they share one with the receiver.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from datetime import timedelta
from statistics import median
from typing import Any

from django.utils import timezone

from benchmarks import jobs_backlog, jobs_rest
from benchmarks.cores import WORKER_CORE, pin
from benchmarks.jobs_bench import Bench
from benchmarks.jobs_cost import http_alone
from benchmarks.jobs_fill import empty
from benchmarks.jobs_rig import rig
from benchmarks.result import Result, option


def main(asked: argparse.Namespace) -> Result:
    found: dict[str, Any] = {"jobs": asked.jobs}
    began = time.monotonic()
    with rig(DELAYHUB_NEAR_WINDOW_SECONDS="3600") as made:
        pin(0)
        bench = Bench(made, jobs=asked.jobs, seconds=asked.seconds)
        for name in asked.only:
            bench.say(f"{time.monotonic() - began:4.0f} s  {name} …")
            found |= PARTS[name](bench, asked)
    return Result(found)


def create(bench: Bench, asked: argparse.Namespace) -> dict[str, Any]:
    """Rows a second, on the worker's core."""
    from tasksapp.jobs.creation import create
    from tasksapp.models import Job

    code = bench.biz_type("created", "ok/created")
    pin(0, WORKER_CORE)
    far = timezone.now() + timedelta(minutes=40)
    began = time.perf_counter()
    bench.create_due(code, asked.jobs, far)
    bulk, began = time.perf_counter() - began, time.perf_counter()
    for n in range(asked.jobs // 20):
        create(code, biz_id=f"order-{n}", due_at=far, body={"order": n})
    single = time.perf_counter() - began
    pin(0)
    Job.objects.all().delete()
    return {
        "creates/s, bulk of 500": round(asked.jobs / bulk),
        "creates/s, single": round(asked.jobs // 20 / single),
    }


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


def bursts(bench: Bench, asked: argparse.Namespace) -> dict[str, Any]:
    """Rounds of: many due at once, half as many failing, plain Celery tasks; each begins with no rows. Medians."""
    rows: list[dict[str, float]] = []
    for number in range(asked.rounds):
        empty()
        with bench.rig.worker() as worker:
            taken = bench.burst(worker, "ok", asked.jobs)
        with bench.rig.worker() as worker:
            failing = bench.burst(worker, "fail", asked.jobs // 2, max_attempts=1)
        plain = _plain_tasks(bench, max(asked.jobs // 10, 100))
        alone = http_alone(bench.url("ok/alone"), asked.jobs, core=WORKER_CORE)
        row: dict[str, float] = {
            "callbacks/s": taken.rate,
            "callbacks/s, all failing": failing.rate,
            "plain task/s": plain,
            "times a plain task": round(taken.rate / plain, 1),
        }
        row |= {f"µs/job, {who}": spent for who, spent in taken.cost.items()}
        row["µs/job, of the callbacks' HTTP alone"] = alone
        row["µs/job, of the callbacks' Python"] = taken.cost["worker: callbacks"] - alone
        row["µs/job, worker, all failing"] = failing.cost["worker"]
        rows.append(row)
        bench.say(f"  round {number + 1}: {json.dumps(row, ensure_ascii=False)}")
    return {name: round(median(row[name] for row in rows), 1) for name in rows[0]}


def _plain_tasks(bench: Bench, count: int) -> int:
    """Plain Celery tasks a second."""
    bench.rig.extra |= {"BASELINE_BROKER": bench.rig.redis.url}
    os.environ["BASELINE_BROKER"] = bench.rig.redis.url
    bench.rig.forget_seen()
    from benchmarks.jobs_baseline import app

    with app.producer_or_acquire() as producer:
        for n in range(count):
            app.send_task("baseline.post", args=[bench.url("ok/plain"), {"n": n}], producer=producer)
    with bench.rig.worker(app="benchmarks.jobs_baseline", queues="celery"):
        bench.wait_until_seen(count)
    at = sorted(one.at_us for one in bench.rig.seen())
    return round((count - 1) / (at[-1] - at[0]) * 1_000_000)


def steady(bench: Bench, asked: argparse.Namespace) -> dict[str, Any]:
    """Lateness at 200 a second."""
    with bench.rig.worker():
        late = bench.steady("steady", 200)
    return {f"lateness ms, 200/s, {name}": value for name, value in late.items()}


def slow(bench: Bench, asked: argparse.Namespace) -> dict[str, Any]:
    """A fast biz type's lateness alone, and beside jobs at 50/s whose receiver takes ten seconds."""
    with bench.rig.worker():
        alone = bench.steady("alone", 100)
        code = bench.biz_type("slow", "slow/one", port=bench.rig.start_receiver(), timeout_seconds=30)
        seconds = bench.seconds + 4
        bench.create_due(code, int(50 * seconds), timezone.now(), spread_seconds=seconds)
        beside = bench.steady("beside", 100)
        bench.wait_until_ended(code)
    return {"fast p99 ms, alone": alone["p99"], "fast p99 ms, beside a slow one": beside["p99"]}


#: What there is to measure, in this order.
PARTS: dict[str, Callable[[Bench, argparse.Namespace], dict[str, Any]]] = {
    "create": create,
    "rest": lambda bench, asked: jobs_rest.rest(bench, max(asked.jobs // 5, 100)),
    "memory": memory,
    "bursts": bursts,
    "steady": steady,
    "slow": slow,
    "growth": lambda bench, asked: jobs_backlog.growth(bench, asked.pending),
    "paused": lambda bench, asked: jobs_backlog.paused(bench, asked.paused),
    "flushed": lambda bench, asked: jobs_backlog.flushed(bench, asked.flushed),
}


OPTIONS = [
    option("--jobs", 20_000, "due at one moment"),
    option("--rounds", 3, "of bursts and plain tasks in turn; medians count"),
    option("--seconds", 10.0, "of steady load"),
    option("--pending", [10_000, 100_000, 1_000_000], nargs="*"),
    option("--paused", 1_000_000, "overdue jobs of a paused biz type"),
    option("--flushed", 100_000, "jobs pending when Redis loses everything"),
    option("--only", list(PARTS), nargs="*", choices=list(PARTS)),
]
