"""How much do the admin's pages cost, and how many statements, when the tables are large?

Question: with so many jobs, does each page of the admin answer within 150 ms (p95, of the server and its database),
    with at most 12 statements beyond those for the session and the person, none of which reads more than 20 000 rows?
Machine: whatever runs it; a private PostgreSQL and Redis, some 1.2 GB of disk for each million rows.
Command: make bench NAME=admin, or OPTIONS="--rows 1000000 --biz-types 200"
Result: how long the loader's counts took; a line for each page with its statements, CPU time (with the database's
    part) and wall time; then one JSON line; exit code 1 where a page is beyond a bound, or does not answer 200.
Caveat: one request at a time through Django's test client: middleware, view and template, but no network and no
    browser. The bound is on CPU time, since others may share the machine: what waits for a disk is not in it. The rows
    have just been written and are in memory as far as they fit.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.admin_cost import BOUND_MS, Page, at, measure
from benchmarks.admin_pages import addresses, signed_in
from benchmarks.explain_jobs import describe, explain
from benchmarks.explain_rows import fill, fill_pulses
from benchmarks.jobs_rig import rig
from benchmarks.result import Result, option


def main(asked: argparse.Namespace) -> Result:
    with rig() as made:
        made.set_django_up()
        seconds = fill(asked.rows, biz_types=asked.biz_types)
        pulses = fill_pulses()
        print(f"filled in {seconds} s; {pulses:,} pulses", flush=True)
        counted = count()
        client, found = signed_in(), dict[str, Page]()
        for name, address in addresses().items():
            if not name.startswith(tuple(asked.only)):
                continue
            renew_counts()
            page = found[name] = measure(client, address, requests=asked.requests, bound_ms=asked.bound_ms)
            print(line(name, page), flush=True)
        renew_counts(hours_ago=1)
        for name in ("overview", "biz types"):
            page = found[f"{name}, no counts"] = measure(
                client, addresses()[name], requests=asked.requests // 4 + 1, bound_ms=asked.bound_ms
            )
            print(line(f"{name}, no counts", page), flush=True)
    wrong = {name: page.wrong for name, page in found.items() if page.wrong}
    figures = {name: page.figures for name, page in found.items()}
    about = {"rows": asked.rows, "biz types": asked.biz_types, "fill s": seconds, "counts ms": counted}
    return Result({**about, "pages": figures, "wrong": wrong}, not wrong)


def count() -> dict[str, float]:
    """Counts once as the loader does; how many ms each count took, the first time and the second."""
    from delayhub.clock import SystemClock
    from tasksapp.maintenance.counter import Counter

    counter = Counter(using="default", clock=SystemClock())
    took: dict[str, float] = {}
    works = {"jobs": counter.count, "next day": counter.look_ahead, "30 days": counter.look_days_ahead}
    for name, work in {**works, "pulses": counter.fold}.items():
        for turn in ("first", "second"):
            began = time.perf_counter()
            work()
            took[f"{name}, {turn}"] = round((time.perf_counter() - began) * 1000, 1)
        print(
            f"count of {name:10} {took[f'{name}, first']:7.1f} ms, then {took[f'{name}, second']:7.1f} ms", flush=True
        )
        for plan in explain(work) if name in works else ():
            print(f"  {plan['Execution Time']:.1f} ms\n{describe(plan['Plan'])}", flush=True)
    return took


def renew_counts(*, hours_ago: int = 0) -> None:
    """Sets when the jobs were counted: the loader does that every ten seconds."""
    from datetime import timedelta

    from django.utils import timezone

    from tasksapp.models import JobCount

    JobCount.objects.update(counted_at=timezone.now() - timedelta(hours=hours_ago))


def line(name: str, page: Page) -> str:
    """What is said of a page while it is measured."""
    cpu, database = (f"{at(ms, 0.5):6.1f} {at(ms, 0.95):6.1f}" for ms in (page.cpu_ms, page.database_ms))
    figures = f"{page.statements:3} statements  CPU {cpu}  (database {database})  wall {at(page.wall_ms, 0.95):6.1f} ms"
    said = f"{name:30} {page.status} {figures} {page.kb:6.1f} kB"
    if not page.wrong:
        return said
    return "\n".join(
        [f"{said}  <-- {'; '.join(page.wrong)}", f"    {page.slowest[0]:.0f} ms: {page.slowest[1][:1500]}"]
    )


OPTIONS = [
    option("--rows", 10_000_000),
    option("--biz-types", 50),
    option("--requests", 40),
    option("--bound-ms", BOUND_MS, "that a page may take, CPU and database"),
    option("--only", [""], "how the names of the pages to measure begin", nargs="*"),
]
