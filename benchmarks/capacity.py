"""What does a job take of PostgreSQL from its create to its purge, and what do many millions a month need?

Question: bytes of table and of each index while a job is kept; WAL, CPU of PostgreSQL and commits for create,
    delivery, purge and vacuum. Once in batches, as a busy site has them: bulks of 500, all due at one moment. Once one
    by one, as a quiet site has them: single creates, due some milliseconds apart, and a checkpoint before each part,
    after which the first change of each page writes the page whole.
Machine: whatever runs it; a worker and a receiver that answers 204.
Command: make bench NAME=capacity; OPTIONS=--keep writes benchmarks/capacity.json and the tables of its page
Result: a table and one JSON line.
Caveat: jobs that succeed at the first try, with a body of 45 bytes. Bytes count where it is busy; CPU grows with what
    caches lose to other programs: the load is among the figures.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.utils import timezone

from benchmarks import capacity_page
from benchmarks.cores import CORES, pin
from benchmarks.jobs_bench import Bench
from benchmarks.jobs_cost import Processes
from benchmarks.jobs_rig import rig
from benchmarks.jobs_trickle import commit_of
from benchmarks.result import Result, option
from tests.repository import ROOT

#: WAL and commits so far.
_WRITTEN = """
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0'), xact_commit FROM pg_stat_database
WHERE datname = current_database()
"""
#: Heap with what is beside it, and each index.
_SIZES = """
SELECT relname, pg_table_size(oid) FROM pg_class WHERE relname IN ('delayhub_job', 'delayhub_attempt')
UNION ALL
SELECT c.relname, pg_relation_size(c.oid) FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
WHERE i.indrelid IN ('delayhub_job'::regclass, 'delayhub_attempt'::regclass)
"""


class Meter(NamedTuple):
    """Measures parts of the lives of so many jobs."""

    worker: Processes
    count: int
    checkpoints: bool

    def of(self, part: Callable[[], object]) -> dict[str, float]:
        """Bytes of WAL, µs of PostgreSQL's CPU and commits that the part takes for each job."""
        if self.checkpoints:
            run("CHECKPOINT")
        before = self._so_far()
        part()
        after = self._so_far()
        return {name: round((after[name] - before[name]) / self.count, 2) for name in after}

    def _so_far(self) -> dict[str, float]:
        ((wal, commits),) = run("SELECT pg_stat_force_next_flush()", _WRITTEN)
        return {"WAL": float(wal), "CPU": self.worker.cpu_seconds()["PostgreSQL"] * 1e6, "commits": commits}


def run(*statements: str) -> list[Any]:
    """Runs statements; the rows of the last one, where it has some."""
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def life(bench: Bench, worker: Processes, count: int, *, rate: float) -> dict[str, Any]:
    """Lives of so many jobs, part by part, and the bytes that each takes before its purge; a rate: one by one."""
    from tasksapp import jobs
    from tasksapp.models import BizType
    from tasksapp.sql.purge_rows import purge_jobs

    code = bench.biz_type("capacity", "ok/capacity")
    biz_type = BizType.objects.get(code=code)
    meter = Meter(worker, count, checkpoints=bool(rate))
    due = timezone.now() + timedelta(seconds=10 + count / (20 if rate else 1_000))
    bench.rig.forget_seen()

    def create() -> None:
        if not rate:
            bench.create_due(code, count, due)
        for n in range(count if rate else 0):
            at = due + timedelta(seconds=n / rate)
            jobs.create(code, biz_id=f"order-{n}", due_at=at, body={"order": n, "note": "the customer did not pay"})
        if timezone.now() > due:
            raise RuntimeError(f"creating {count} jobs took longer than they had")

    def deliver() -> None:
        bench.wait_until_seen(count)
        bench.wait_until_ended(code)

    def purge() -> None:
        while purge_jobs(biz_type.pk, before=timezone.now(), using="default").jobs:
            pass

    def vacuum() -> None:
        run("VACUUM (ANALYZE) delayhub_job", "VACUUM (ANALYZE) delayhub_attempt")

    parts = {"create": meter.of(create), "deliver": meter.of(deliver), "vacuum": meter.of(vacuum)}
    sizes = {name: round(size / count, 1) for name, size in sorted(run(_SIZES))}
    parts["purge"] = meter.of(purge)
    again = meter.of(vacuum)
    parts["vacuum"] = {name: round(value + again[name], 2) for name, value in parts["vacuum"].items()}
    return {"parts": parts, "bytes": {name: size for name, size in sizes.items() if size >= 1}}


def main(asked: argparse.Namespace) -> Result:
    with rig() as made:
        pin(0)
        bench = Bench(made)
        run("ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()")
        with made.worker() as worker:
            many = life(bench, worker, asked.jobs, rate=0)
            few = life(bench, worker, asked.single, rate=asked.rate)
    found = {
        "commit": commit_of(ROOT), "load": round(os.getloadavg()[0], 1), "cores": len(CORES), "bytes": many["bytes"],
        "in batches": many["parts"], "one by one": few["parts"],
    }  # fmt: skip
    if asked.keep:
        capacity_page.keep(found)
    print(capacity_page.tables(found))
    return Result(found)


OPTIONS = [
    option("--jobs", 20_000, "in batches"),
    option("--single", 1_000, "one by one"),
    option("--rate", 50.0, "of those that are due in a second"),
    option("--keep", action="store_true", help="write the figures down"),
]
