"""Do jobs fire while Redis is away, and how late?

Question: of jobs that are due at a steady rate, how many are called back, how late and how often twice, while Redis
    is killed and kept away, frozen (SIGSTOP), or comes and goes every three seconds; and where a worker is started
    while it is away?
Machine: whatever runs it; two workers (one with threads, one with child processes), one PostgreSQL, one Redis.
Command: make chaos NAME=redis-away
Result: one JSON line; exit code 0 only if every job was called back, and those that were due meanwhile at most
    ``--late`` seconds late.
Caveat: the first seconds after Redis is back count, too. Duplicates are counted, not forbidden.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from benchmarks.figures import late
from benchmarks.jobs_bench import Bench
from benchmarks.jobs_rig import Rig, rig
from benchmarks.result import Result, judged, option
from tests.waiting import wait_until

#: Before and after Redis is away, jobs are due for so long, too.
AROUND_SECONDS = 3.0
FLAP_SECONDS = 3.0


def main(asked: argparse.Namespace) -> Result:
    found: dict[str, Any] = {}
    with rig(DELAYHUB_NEAR_WINDOW_SECONDS="3600") as made:
        bench = Bench(made)
        for name in asked.only:
            found[name] = _run(bench, name, seconds=asked.seconds, rate=asked.rate)
            print(f"{name}: {json.dumps(found[name])}", file=sys.stderr, flush=True)
    good = all(judged(each, none=("never",), some=("jobs",)) for each in found.values())
    return Result(found, good and all(each["latest s"] <= asked.late for each in found.values()))


def _run(bench: Bench, name: str, *, seconds: float, rate: float) -> dict[str, Any]:
    """What came of it: jobs, those that were never called back, lateness, and duplicates."""
    from tasksapp.models import Job

    Job.objects.all().delete()
    made, code = bench.rig, bench.biz_type("away", "ok")
    made.forget_seen()
    workers = [made.start_worker(pool=pool) for pool in ("threads", "prefork")]
    if ABSENCES[name] is started:
        started_without(made)
    first = timezone.now() + timedelta(seconds=2)
    count = int(rate * (seconds + 2 * AROUND_SECONDS))
    # Nothing but the rows is there to say when they are due: Redis is away when most of them are.
    ids = set(map(str, bench.create_due(code, count, first, spread_seconds=count / rate)))
    time.sleep(max(0.0, (first - timezone.now()).total_seconds()) + AROUND_SECONDS)
    ABSENCES[name](made, seconds)
    with contextlib.suppress(TimeoutError):  # the numbers say it
        wait_until(lambda: {seen.job_id for seen in made.seen()} >= ids, within_seconds=AROUND_SECONDS + 60)
    seen = made.seen()
    seconds_late = [one.lateness_ms / 1000 for one in seen]
    upkeep = _upkeep() if ABSENCES[name] is started else {}
    for worker in workers + made.workers:
        if worker.poll() is None:
            worker.terminate()
            worker.wait(60)
    return {
        "jobs": len(ids),
        "never": len(ids - {one.job_id for one in seen}),
        "twice": sum(number - 1 for number in Counter(one.job_id for one in seen).values()),
        "latest s": round(max(seconds_late), 2),
        **late(seconds_late, "s"),
        **upkeep,
    }


def _upkeep() -> dict[str, Any]:
    """After how many seconds an operation was done by a worker started without Redis: it has work beside callbacks."""
    from tasksapp import jobs, operations
    from tasksapp.access.actors import Actor
    from tasksapp.jobs.job_filter import JobFilter
    from tasksapp.models import BizType, Operation

    code, began, by = "away.upkeep", time.monotonic(), operations.Starter(Actor("chaos"))
    BizType.objects.update_or_create(code=code, defaults={"url": "http://127.0.0.1:9/"})
    for _ in range(20):
        jobs.create(code, delay=3_600)
    operation = operations.plan("cancel", JobFilter(biz_type=code), by=by)

    def state() -> str:
        return str(Operation.objects.get(id=operation.id).state)

    wait_until(lambda: state() == Operation.State.PLANNED, within_seconds=120, otherwise=state)
    operations.start(operation.id, by=by)
    wait_until(lambda: state() == Operation.State.DONE, within_seconds=120, otherwise=state)
    return {"operation done s": round(time.monotonic() - began, 1)}


def killed(made: Rig, seconds: float) -> None:
    """Redis is killed, and started again later."""
    made.redis.kill()
    time.sleep(seconds)
    made.redis.restart()


def frozen(made: Rig, seconds: float) -> None:
    """Redis keeps its connections open and answers nothing."""
    assert made.redis.pid is not None
    os.kill(made.redis.pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(made.redis.pid, signal.SIGCONT)


def flapping(made: Rig, seconds: float) -> None:
    """Redis comes and goes."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        killed(made, FLAP_SECONDS)
        time.sleep(FLAP_SECONDS)


def started_without(made: Rig) -> None:
    """Redis is killed, all workers end, and another one is started, which never saw Redis."""
    made.redis.kill()
    for worker in made.workers:
        worker.terminate()
    for worker in made.workers:
        worker.wait(120)
    made.start_worker(pool="threads", wait=False)
    log = made.folder / f"worker-{len(made.workers) - 1}.log"
    wait_until(lambda: "Redis is away" in log.read_text(), within_seconds=120)


def started(made: Rig, seconds: float) -> None:
    """Redis comes back under a worker that was started without it."""
    time.sleep(seconds)
    made.redis.restart()


#: How Redis is away, by name.
ABSENCES: dict[str, Callable[[Rig, float], None]] = {
    "killed": killed,
    "frozen": frozen,
    "flapping": flapping,
    "started": started,
}


OPTIONS = [
    option("--seconds", 60.0, "that Redis is away"),
    option("--rate", 50.0, "jobs a second"),
    option("--late", 5.0, "the most that a job may be late"),
    option("--only", list(ABSENCES), nargs="*", choices=list(ABSENCES)),
]
