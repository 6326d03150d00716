"""Does every statement that is run often use an index when the table is large?

Question: which plans does PostgreSQL choose for claims, sweeps, leases, purges, look-ups and each page of the admin,
    and how long do they take, with so many rows, of which three in four have ended? Does a page ask more than 12
    statements beyond those about the person? And what do biz types without jobs cost where another one has a million
    overdue ones, also while the statistics do not know that yet?
Machine: whatever runs it; a private PostgreSQL, some 12 GB of disk for 10 million rows.
Command: make bench NAME=explain, or OPTIONS="--rows 50000"
Result: the plans, then one JSON line with ms by statement and by page; exit code 1 where a plan reads more than the
    beginning of a large table without an index, or took longer than it may, or a page asks too often or is not there.
Caveat: the rows have just been written and are in memory as far as they fit.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from benchmarks.admin_pages import addresses, signed_in
from benchmarks.explain_rows import fill, fill_one, fill_pulses
from benchmarks.jobs_rig import rig
from benchmarks.result import Result, option

#: Tables that grow with the jobs.
LARGE = {"delayhub_job", "delayhub_attempt", "delayhub_idempotency_key"}
#: The admin counts to 10 000 and then stops; to find that many of a status that most rows have, a scan of the table's
#: beginning is right.
FEW_ROWS = 20_000
#: What a page of the admin may ask, beyond statements about the person who sees it.
PAGE_STATEMENTS = 12
NOT_COUNTED = ("django_session", "auth_user", "auth_permission", "auth_group", "SAVEPOINT", "RELEASE", "ROLLBACK")


@dataclass
class Explainer:
    """Stands between Django and the database: explains each statement about some tables while it runs."""

    tables: Collection[str]
    plans: list[dict[str, Any]] = field(default_factory=list)
    #: How many statements there were, but for those about the person.
    count: int = 0

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        self.count += not any(word in sql for word in NOT_COUNTED)
        if any(table in sql for table in self.tables):
            with context["connection"].wrap_database_errors, context["cursor"].connection.cursor() as cursor:
                # Analysing a statement runs it, so what it did is undone before it runs for its caller.
                cursor.execute("SAVEPOINT explained")
                cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
                self.plans.append(cursor.fetchone()[0][0])
                cursor.execute("ROLLBACK TO SAVEPOINT explained")
        return execute(sql, params, many, context)


def explain(statement: Callable[[], object]) -> Explainer:
    """What a call runs, with the plans of that on large tables; nothing of it stays."""
    explainer = Explainer(LARGE)
    with transaction.atomic():
        with connection.execute_wrapper(explainer):
            statement()
        transaction.set_rollback(True)
    return explainer


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A plan and all that is below it."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def faults(plan: dict[str, Any], *, bound_ms: float) -> list[str]:
    """What is wrong with a plan."""
    found = [
        f"reads {read_rows(node):,.0f} rows of {node['Relation Name']} without an index"
        for node in nodes(plan["Plan"])
        if node["Node Type"] == "Seq Scan" and node.get("Relation Name") in LARGE and read_rows(node) > FEW_ROWS
    ]
    if plan["Execution Time"] > bound_ms:
        found.append(f"took {plan['Execution Time']:.0f} ms")
    return found


def read_rows(node: dict[str, Any]) -> float:
    """How many rows a scan has looked at."""
    return float((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])


def describe(plan: dict[str, Any], indent: int = 4) -> str:
    """A plan as an indented list."""
    where = plan.get("Index Name") or plan.get("Relation Name") or plan.get("CTE Name") or ""
    lines = [f"{'':{indent}}{plan['Node Type']} {where} ({plan['Actual Rows']:.0f} rows)".rstrip()]
    return "\n".join([*lines, *(describe(below, indent + 2) for below in plan.get("Plans", ()))])


def statements(now: datetime) -> dict[str, Callable[[], object]]:
    """What is run often, by name."""
    from tasksapp import jobs
    from tasksapp.models import BizType, Job
    from tasksapp.sql.claim_jobs import claim_jobs
    from tasksapp.sql.count_jobs import count_jobs
    from tasksapp.sql.leases import renew_leases, return_lost_leases
    from tasksapp.sql.pending_rows import Position, count_pending, pages
    from tasksapp.sql.purge_rows import old_keys, purge, purge_jobs
    from tasksapp.sql.timer_work import timer_work
    from tasksapp.sql.upcoming import count_upcoming

    biz_type = BizType.objects.order_by("id")[0]
    pending = list(Job.objects.filter(biz_type=biz_type, status="pending").order_by("next_run_at")[:2000])
    due = [job.id for job in pending[:100]]
    running = list(Job.objects.filter(status="running")[:100])
    some = pending[len(pending) // 2]
    using = "default"

    def page(after: Position | datetime | None, until: datetime) -> Callable[[], object]:
        return lambda: next(pages(biz_type.id, after=after, until=until, using=using), None)

    return {
        "claim 100": lambda: claim_jobs(due, now=now, lease_seconds=60, worker="w", using=using),
        "sweep: biz types with work": lambda: timer_work(
            now=now,
            after=now + timedelta(hours=1),
            until=now + timedelta(hours=1, seconds=2),
            overdue_since=now - timedelta(seconds=2),
            using=using,
        ),
        "sweep: rows that enter the window": page(now + timedelta(hours=1), now + timedelta(hours=1, seconds=2)),
        "sweep: first page of the window": page(None, now + timedelta(hours=1)),
        "sweep: a later page of overdue rows": page(Position(some.next_run_at, some.id), now),
        "sweep: count the window": lambda: count_pending(
            biz_type.id, after=now, until=now + timedelta(hours=1), using=using
        ),
        "lost leases": lambda: return_lost_leases(now=now, limit=500, max_system_errors=100, using=using),
        "renew 100": lambda: renew_leases([(job.id, job.lease_token or 0, now) for job in running], using=using),
        "purge 500 jobs": lambda: purge_jobs(biz_type.id, before=now - timedelta(days=20), using=using),
        "purge 500 keys": lambda: purge(old_keys(before=now, using=using)),
        "count all jobs": lambda: count_jobs(clock=lambda: now, using=using, timeout_seconds=600),
        "count the next day": lambda: count_upcoming(
            begin=now, end=now + timedelta(days=1), seconds=300, using=using, timeout_seconds=600
        ),
        "look up by biz id": lambda: jobs.find_live(biz_type.code, some.biz_id, using=using),
    }


def of_idle(biz_types: Sequence[Any], now: datetime) -> dict[str, Callable[[], object]]:
    """What is asked about biz types that have no jobs, by name."""
    from tasksapp.models import BizType, Operation, Status
    from tasksapp.operations.pages import biz_types_with_jobs
    from tasksapp.sql.first_jobs import due_jobs, has_jobs, has_jobs_in
    from tasksapp.sql.pending_rows import count_pending, pages
    from tasksapp.sql.purge_rows import purge_jobs
    from tasksapp.sql.timer_work import timer_work
    from tasksapp.stats.counts import count_bounded

    one, using = biz_types[len(biz_types) // 2].pk, "default"
    hour, overdue_since = now + timedelta(hours=1), now - timedelta(seconds=2)
    return {
        "sweep: biz types with work": lambda: timer_work(
            now=now, after=hour, until=hour + timedelta(seconds=2), overdue_since=overdue_since, using=using
        ),
        "sweep: biz types with work in the first turn": lambda: timer_work(
            now=now, after=None, until=hour, overdue_since=overdue_since, using=using
        ),
        "sweep: first page": lambda: next(pages(one, after=None, until=hour, using=using), None),
        "sweep: count the window": lambda: count_pending(one, after=now, until=hour, using=using),
        "due jobs": lambda: due_jobs({biz_type.pk: 10 for biz_type in biz_types}, until=now, limit=10, using=using),
        "purge 500 jobs": lambda: purge_jobs(one, before=now, using=using),
        "has jobs": lambda: has_jobs(one, using=using),
        "has jobs that may fire": lambda: [
            has_jobs_in(status, one, using=using) for status in (Status.PENDING, Status.RUNNING)
        ],
        "operation: biz types with jobs": lambda: [
            biz_types_with_jobs(Operation(verb=verb, job_filter={}), using=using) for verb in ("cancel", "redrive")
        ],
        "count each biz type, while no loader counts": lambda: count_bounded(BizType.objects.all(), bound=200),
    }


def look_at(asked: Mapping[str, Callable[[], object]], *, bound_ms: float) -> tuple[dict[str, float], list[str]]:
    """Shows the plans; gives back how many ms each statement took, and what is wrong with them."""
    took: dict[str, float] = {}
    wrong = []
    for name, statement in asked.items():
        print(f"\n{name}")
        for plan in explain(statement).plans:
            print(f"  {plan['Execution Time']:.1f} ms\n{describe(plan['Plan'])}")
            took[name] = round(took.get(name, 0.0) + plan["Execution Time"], 1)
            wrong += [f"{name}: {fault}" for fault in faults(plan, bound_ms=bound_ms)]
        if name not in took:
            wrong.append(f"{name}: no statement was seen")
    return took, wrong


def look_at_pages(*, bound_ms: float) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Opens each page of the admin; gives back what it asks and how many ms that took, and what is wrong with it."""
    client, found, wrong = signed_in(), dict[str, dict[str, float]](), list[str]()
    for name, address in addresses().items():
        count_as_the_loader_does()  # the pages show what was counted a moment ago
        answers: list[Any] = []
        seen = explain(partial(open_page, client, address, answers))
        ms = sum(plan["Execution Time"] for plan in seen.plans)
        found[name] = {"statements": seen.count, "ms": round(ms, 1)}
        wrong += [f"{name}: {fault}" for plan in seen.plans for fault in faults(plan, bound_ms=bound_ms)]
        if answers[0].status_code != 200:
            wrong.append(f"{name}: answered {answers[0].status_code}")
        if seen.count > PAGE_STATEMENTS:
            wrong.append(f"{name}: asked {seen.count} times")
        print(f"{name:30} {seen.count:3} statements {ms:8.1f} ms on large tables", flush=True)
    return found, wrong


def open_page(client: Any, address: str, answers: list[Any]) -> None:
    """Keeps what the page answers."""
    answers.append(client.get(address))


def count_as_the_loader_does() -> None:
    """Counts jobs where nobody has; the loader does that every ten seconds, so the counts are never old."""
    from delayhub.clock import SystemClock
    from tasksapp.maintenance.counter import Counter
    from tasksapp.models import JobCount

    if JobCount.objects.update(counted_at=timezone.now()):
        return
    counter = Counter(using="default", clock=SystemClock())
    for work in (counter.count, counter.look_ahead, counter.look_days_ahead, counter.fold):
        work()


def main(asked: argparse.Namespace) -> Result:
    with rig() as made:
        made.set_django_up()
        seconds = fill(asked.rows, biz_types=asked.biz_types)
        took, wrong = look_at(statements(timezone.now()), bound_ms=asked.bound_ms)
        fill_pulses()
        pages, more = look_at_pages(bound_ms=asked.bound_ms)
        wrong += more
        idle: dict[str, dict[str, float]] = {}
        for when, biz_types in fill_one(min(asked.rows, asked.rows_of_one)):
            idle[when], more = look_at(of_idle(biz_types, timezone.now()), bound_ms=asked.idle_bound_ms)
            wrong += [f"idle, {when}: {fault}" for fault in more]
        connection.close()
    print("", *wrong, sep="\n")
    found = {"rows": asked.rows, "fill s": seconds, "ms": took, "pages": pages, "ms, idle": idle, "wrong": wrong}
    return Result(found, not wrong)


OPTIONS = [
    option("--rows", 10_000_000),
    option("--biz-types", 50, "that share them"),
    option("--rows-of-one", 1_000_000, "overdue, of one biz type; never more than --rows"),
    option("--bound-ms", 500.0, "that a statement may take"),
    option("--idle-bound-ms", 50.0, "that one about idle biz types may take"),
]
