"""Do fresh jobs keep their time while an operation redrives very many dead ones of the same biz type?

Question: lateness of fresh jobs of a biz type with a delivery rate, while they have it to themselves, and while an
    operation redrives dead jobs beside them. Half of the fresh jobs are known a few seconds ahead, the other half are
    due when they are created. And how many the redrive does a second; with --rows: how long an operation takes for a
    million jobs in one go, whether its numbers are those of the database, and how long its turns hold the maintenance
    thread: 0.25 s is their share, and 1 s too long.
Machine: whatever runs it; one core for the worker, the other for PostgreSQL, Redis, the receiver and this program.
Command: make bench NAME=operations
Result: a table and one JSON line.
Caveat: PostgreSQL with its own defaults (fsync on); other work on the machine shows. Compare ratios within a run.
"""

from __future__ import annotations

import argparse
import time
from datetime import timedelta
from typing import Any

from django.utils import timezone

from benchmarks.cores import pin
from benchmarks.explain_rows import fill_overdue
from benchmarks.jobs_bench import Bench, FreshJobs
from benchmarks.jobs_rig import rig
from benchmarks.result import Result, option
from tests.waiting import wait_until

#: The loader, lost leases and gates wait for a turn of operations.
LONGEST_TURN_SECONDS = 1.0


def main(asked: argparse.Namespace) -> Result:
    found: dict[str, Any] = {"redriven": asked.redriven, "rate": asked.rate, "fresh/s": asked.fresh}
    with rig() as made:
        pin(0)
        bench = Bench(made)
        if asked.redriven:
            found |= beside_fresh_jobs(bench, asked)
        if asked.rows:
            found |= many_rows(bench, asked.rows)
    return Result(found)


def beside_fresh_jobs(bench: Bench, asked: argparse.Namespace) -> dict[str, Any]:
    """Lateness of fresh jobs without and with a redrive beside them."""
    from tasksapp import operations

    code = bench.biz_type("redrive", "ok/redrive", delivery_rate=asked.rate)
    made_dead(code, asked.redriven)
    found: dict[str, Any] = {}
    with bench.rig.worker():
        fresh = FreshJobs(bench, code, per_second=asked.fresh)
        fresh.run(asked.seconds)
        found |= fresh.lateness("alone")
        operation = planned(code, "redrive")
        assert operation.planned == asked.redriven, operation.planned
        operations.start(operation.pk, by=the_code())
        began = time.monotonic()
        fresh = FreshJobs(bench, code, per_second=asked.fresh)
        fresh.run(None, until=lambda: ended(operation, bench) and bench.rig.count_seen() >= asked.redriven)
        seconds = time.monotonic() - began
        found |= fresh.lateness("beside an operation")
        operation.refresh_from_db()
        found |= {
            "operation": operation.state,
            "operation done": operation.done,
            "operation seconds": round(seconds, 1),
            "operation jobs/s": round(asked.redriven / seconds, 1),
        }
        wait_until(lambda: refreshed(operation).succeeded >= asked.redriven, within_seconds=60)
        found["operation succeeded"] = operation.succeeded
    empty()
    return found


def many_rows(bench: Bench, rows: int) -> dict[str, Any]:
    """How long one operation takes to plan and to drop so many, and what its turns cost."""
    from delayhub.clock import SystemClock
    from tasksapp import operations
    from tasksapp.maintenance.operation_turns import OperationTurns
    from tasksapp.models import Job

    code = bench.biz_type("many", "ok/many")
    made_dead(code, rows)
    given = OperationTurns(using="default", clock=SystemClock())
    operation = plan(code, "drop")
    plan_turns = turns_until(given, lambda: refreshed(operation).state == "planned")
    assert operation.planned == rows, operation.planned
    operations.start(operation.pk, by=the_code(), typed_count=rows)
    drop_turns = turns_until(given, lambda: refreshed(operation).state == "done")
    assert (operation.done, operation.left) == (rows, 0), (operation.done, operation.left)
    assert Job.objects.filter(operation_id=operation.pk, status="dropped").count() == rows
    empty()
    every_turn = [*plan_turns, *drop_turns]
    return {
        "rows": rows,
        "rows: seconds of turns to plan": round(sum(plan_turns), 2),
        "rows: seconds of turns to drop": round(sum(drop_turns), 1),
        "rows: turns": len(every_turn),
        "rows: longest turn, s": round(max(every_turn), 2),
        "rows: turns of more than 1 s": sum(seconds > LONGEST_TURN_SECONDS for seconds in every_turn),
    }


def made_dead(code: str, count: int) -> None:
    """So many dead jobs, as if their receiver had been down."""
    from django.db import connection

    from tasksapp.models import BizType, Job, Status

    hour, biz_type = timezone.now() - timedelta(hours=1), BizType.objects.get(code=code)
    fill_overdue(biz_type, count)
    rows = Job.objects.filter(biz_type=biz_type)
    rows.update(status=Status.DEAD, attempts=3, last_error="503", finished_at=hour, updated_at=hour)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE delayhub_job")


def empty() -> None:
    """Takes all jobs away, without a million deletions."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE delayhub_job, delayhub_attempt, delayhub_idempotency_key")


def planned(code: str, verb: str) -> Any:
    """An operation that the worker has counted the jobs of."""
    operation = plan(code, verb)
    wait_until(lambda: refreshed(operation).state == "planned", within_seconds=30)
    return operation


def plan(code: str, verb: str) -> Any:
    """A new operation for all jobs of a biz type."""
    from tasksapp import operations
    from tasksapp.jobs.job_filter import JobFilter

    return operations.plan(verb, JobFilter(biz_type=code), by=the_code())


def turns_until(given: Any, fact: Any) -> list[float]:
    """The seconds that each turn took until the fact was true."""
    took = []
    while not fact():
        began = time.perf_counter()
        given.run_once()
        took.append(time.perf_counter() - began)
    return took


def refreshed(operation: Any) -> Any:
    """The operation as its row is now."""
    operation.refresh_from_db()
    return operation


def ended(operation: Any, bench: Bench) -> bool:
    """Whether it has ended; says how it comes along."""
    walks = refreshed(operation).cursor["walks"]
    learned = [{name: walk[name] for name in ("feed", "usual_ms", "was_late")} for walk in walks]
    bench.say(f"  {operation.done} of {operation.planned}, {operation.cursor['per_second']:.0f} a second, {learned}")
    return operation.finished_at is not None


def the_code() -> Any:
    """The project's own code."""
    from tasksapp.access.actors import OWN_CODE
    from tasksapp.operations import Starter

    return Starter(OWN_CODE)


OPTIONS = [
    option("--redriven", 50_000),
    option("--rate", 500.0, "the biz type's delivery rate"),
    option("--fresh", 50.0, "fresh jobs a second"),
    option("--seconds", 20.0, "how long fresh jobs have it to themselves"),
    option("--rows", 1_000_000, "dropped by one operation, without workers' own work"),
]
