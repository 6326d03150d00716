"""Does every statement that is run often use an index when the table is large?

Question: which plans does PostgreSQL choose for claims, sweeps, leases, purges, look-ups and each page of the admin,
    and how long do they take, with so many rows, of which three in four have ended? Does a page ask more than 12
    statements beyond those about the person? And does each have a good plan where one biz type has a million overdue
    jobs and twenty have none: right after an import into a new table or into one whose statistics are old, and after
    ANALYZE; those that workers prepare, also by a plan for any values that was made while the table was empty?
Machine: whatever runs it; a private PostgreSQL, some 12 GB of disk for 10 million rows.
Command: make bench NAME=explain, or OPTIONS="--rows 50000"
Result: the plans, then one JSON line with ms by statement and by page; exit code 1 where a plan reads more than the
    beginning of a large table without an index, or took longer than it may, or a page asks too often or is not there.
Caveat: the rows have just been written and are in memory as far as they fit. A kept plan that is wrong is made again
    where workers let go of it, as it took long: it counts where it is still wrong then. What
    they keep, though it is wrong, since it took less, is told by itself: it stays until PostgreSQL makes statistics.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from benchmarks.admin_pages import addresses, signed_in
from benchmarks.explain_rows import fill, fill_one, fill_pulses
from benchmarks.explainer import describe, explain, faults
from benchmarks.jobs_rig import rig
from benchmarks.result import Result, option

#: What a page of the admin may ask, beyond statements about the person who sees it.
PAGE_STATEMENTS = 12
#: How many ids workers' prepared statements have.
PREPARED_SIZES = (1, 8, 32)
#: The look whose plan goes sooner than others do.
LOOK = "sweep: biz types with work"


def of_workers(ids: Sequence[UUID], now: datetime) -> dict[str, Callable[[], object]]:
    """What workers run for so many jobs at once, by name."""
    from tasksapp.sql.claim_jobs import claim_jobs
    from tasksapp.sql.write_outcomes import write_outcomes
    from tests.outcomes import finished

    outcomes = [finished(job_id, 1) for job_id in ids]
    return {
        f"claim {len(ids)}": lambda: claim_jobs(ids, now=now, lease_seconds=60, worker="w", using="default"),
        f"outcomes of {len(ids)}": lambda: write_outcomes(outcomes, now=now, worker="w", using="default"),
    }


def what_is_prepared(ids: Sequence[UUID], now: datetime) -> dict[str, Callable[[], object]]:
    """What workers prepare, by name; what is about jobs has as many ids as it is made for."""
    found = {name: ask for size in PREPARED_SIZES for name, ask in of_workers(ids[:size], now).items()}
    return found | {LOOK: work(now, now + timedelta(hours=1), now + timedelta(hours=1, seconds=2))}


def work(now: datetime, after: datetime | None, until: datetime) -> Callable[[], object]:
    """The look for what a sweep has to do."""
    from tasksapp.sql.timer_work import timer_work

    since = now - timedelta(seconds=2)
    return lambda: timer_work(now=now, after=after, until=until, overdue_since=since, using="default")


def statements(now: datetime, biz_type: Any) -> dict[str, Callable[[], object]]:
    """What is run often, by name; about that biz type where it is about one."""
    from tasksapp import jobs
    from tasksapp.models import LIVE, BizType, Job, Operation
    from tasksapp.operations.pages import biz_types_with_jobs
    from tasksapp.sql.count_jobs import count_jobs
    from tasksapp.sql.first_jobs import due_jobs, has_jobs, has_jobs_in
    from tasksapp.sql.leases import renew_leases, return_lost_leases
    from tasksapp.sql.pending_rows import Position, count_pending, pages
    from tasksapp.sql.purge_rows import old_keys, purge, purge_jobs
    from tasksapp.sql.upcoming import count_upcoming
    from tasksapp.stats.counts import count_bounded

    pending = list(Job.objects.filter(status="pending").order_by("biz_type_id", "next_run_at")[:2000])
    running = list(Job.objects.filter(status="running")[:100]) or pending[:100]
    some, limits = pending[len(pending) // 2], dict.fromkeys(BizType.objects.values_list("id", flat=True), 10)
    one, using = biz_type.pk, "default"
    hour, soon = now + timedelta(hours=1), now + timedelta(hours=1, seconds=2)

    def page(after: Position | datetime | None, until: datetime) -> Callable[[], object]:
        return lambda: next(pages(one, after=after, until=until, using=using), None)

    return {
        **of_workers([job.id for job in pending[:100]], now),
        LOOK: work(now, hour, soon),
        "sweep: biz types with work in the first turn": work(now, None, hour),
        "sweep: rows that enter the window": page(hour, soon),
        "sweep: first page of the window": page(None, hour),
        "sweep: a later page of overdue rows": page(Position(some.next_run_at, some.id), now),
        "sweep: count the window": lambda: count_pending(one, after=now, until=hour, using=using),
        "due jobs": lambda: due_jobs(limits, until=now, limit=10, using=using),
        "lost leases": lambda: return_lost_leases(now=now, limit=500, max_system_errors=100, using=using),
        "renew 100": lambda: renew_leases([(job.id, job.lease_token or 0, now) for job in running], using=using),
        "purge 500 jobs": lambda: purge_jobs(one, before=now - timedelta(days=20), using=using),
        "purge 500 keys": lambda: purge(old_keys(before=now, using=using)),
        "count all jobs": lambda: count_jobs(clock=lambda: now, using=using, timeout_seconds=600),
        "count the next day": lambda: count_upcoming(
            begin=now, end=now + timedelta(days=1), seconds=300, using=using, timeout_seconds=600
        ),
        "count each biz type, while no loader counts": lambda: count_bounded(BizType.objects.all(), bound=200),
        "look up by biz id": lambda: jobs.find_live(some.biz_type.code, some.biz_id, using=using),
        "has jobs": lambda: has_jobs(one, using=using),
        "has jobs that may fire": lambda: [has_jobs_in(status, one, using=using) for status in LIVE],
        "operation: biz types with jobs": lambda: [
            biz_types_with_jobs(Operation(verb=verb, job_filter={}), using=using) for verb in ("cancel", "redrive")
        ],
    }


def look_at(
    asked: Mapping[str, Callable[[], object]], *, bound_ms: float, kept: dict[str, str] | None = None
) -> tuple[dict[str, float], list[str]]:
    """Shows the plans; gives back how many ms each statement took, and what is wrong with them."""
    took: dict[str, float] = {}
    wrong = []
    for name, statement in asked.items():
        print(f"\n{name}")
        for plan in explain(statement, kept=kept).plans:
            print(f"  {plan['Execution Time']:.1f} ms\n{describe(plan['Plan'])}")
            took[name] = round(took.get(name, 0.0) + plan["Execution Time"], 1)
            wrong += [f"{name}: {fault}" for fault in faults(plan, bound_ms=bound_ms)]
        if name not in took:
            wrong.append(f"{name}: no statement was seen")
    return took, wrong


class Prepared:
    """What workers have prepared, each with the plan that it was given first, until they let go of it."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, str]] = {}

    def look_at(
        self, asked: Mapping[str, Callable[[], object]], *, bound_ms: float
    ) -> tuple[dict[str, float], dict[str, float], list[str], list[str]]:
        """Shows the plans.

        Gives back how many ms each took, those that were made again, what is wrong with these, and with those kept.
        """
        from tasksapp.sql.driver import look, prepared

        took, again = dict[str, float](), dict[str, float]()
        wrong, still = list[str](), list[str]()
        for name, statement in asked.items():
            kept = self._kept.setdefault(name, {})
            took[name], found = self._look(name, statement, bound_ms, kept)
            if took[name] > (look.SLOW_SECONDS if name == LOOK else prepared.SLOW_SECONDS) * 1000:
                kept.clear()
                print("  is let go of, and made again")
                again[name], found = self._look(name, statement, bound_ms, kept)
                wrong += found
            else:
                still += found
        return took, again, wrong, still

    def _look(
        self, name: str, statement: Callable[[], object], bound_ms: float, kept: dict[str, str]
    ) -> tuple[float, list[str]]:
        took, wrong = look_at({name: statement}, bound_ms=bound_ms, kept=kept)
        return took.get(name, 0.0), wrong


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


def look_at_states(rows: int, *, asked: argparse.Namespace) -> tuple[dict[str, dict[str, float]], list[str], list[str]]:
    """How many ms each statement took in each state of the statistics, one biz type having all jobs; what is wrong.

    And what is wrong with plans that workers keep, as they took too little to be let go of.
    """
    from tasksapp.models import Job

    found: dict[str, dict[str, float]] = {}
    wrong: dict[str, list[str]] = {}
    still: dict[str, list[str]] = {}
    prepared: Prepared | None = None

    def look(what: str, often: Mapping[str, Callable[[], object]], bound_ms: float) -> None:
        print(f"\n== {what}")
        found[what], wrong[what] = look_at(often, bound_ms=bound_ms)

    for state, (full, *idle) in fill_one(rows):
        now, most = timezone.now(), PREPARED_SIZES[-1]
        ids = list(Job.objects.order_by("id").values_list("id", flat=True)[:most])
        of_any = what_is_prepared(ids or [UUID(int=number) for number in range(most)], now)
        # As workers do: with the plans of the empty table, until PostgreSQL makes others, or they let go of them.
        what, prepared = f"{state}: prepared", prepared or Prepared()
        print(f"\n== {what}")
        took, again, wrong[what], still[state] = prepared.look_at(of_any, bound_ms=asked.bound_ms)
        found |= {what: took, f"{what} again": again}
        if not ids:
            continue
        for whose, biz_type, bound_ms in ("full", full, asked.bound_ms), ("idle", idle[-1], asked.idle_bound_ms):
            often = statements(now, biz_type)
            del often["count all jobs"]  # it is right to read all of the table there
            look(f"{state}: {whose}", often, bound_ms)
    return found, _named(wrong), _named(still)


def _named(wrong: Mapping[str, list[str]]) -> list[str]:
    return [f"{what}: {fault}" for what, each in wrong.items() for fault in each]


def main(asked: argparse.Namespace) -> Result:
    with rig() as made:
        made.set_django_up()
        from tasksapp.models import BizType

        seconds = fill(asked.rows, biz_types=asked.biz_types)
        took, wrong = look_at(statements(timezone.now(), BizType.objects.earliest("id")), bound_ms=asked.bound_ms)
        fill_pulses()
        pages, more = look_at_pages(bound_ms=asked.bound_ms)
        wrong += more
        by_state, more, still = look_at_states(min(asked.rows, asked.rows_of_one), asked=asked)
        wrong += more
        connection.close()
    print("", *wrong, *still, sep="\n")
    found = {"rows": asked.rows, "fill s": seconds, "ms": took, "pages": pages, "ms by state": by_state}
    return Result(found | {"wrong": wrong, "kept though wrong": still}, not wrong)


OPTIONS = [
    option("--rows", 10_000_000),
    option("--biz-types", 50, "that share them"),
    option("--rows-of-one", 1_000_000, "overdue, of one biz type; never more than --rows"),
    option("--bound-ms", 500.0, "that a statement may take"),
    option("--idle-bound-ms", 50.0, "that one about idle biz types may take"),
]
