"""Parts of the jobs benchmark with many jobs waiting: growth, a paused million, and Redis losing everything."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from django.utils import timezone

from benchmarks.jobs_bench import Bench
from benchmarks.jobs_fill import fill, fill_with_timers, rebuild_timers
from tests.waiting import wait_until

#: How long an idle worker is looked at, and a backlog that was let go again.
IDLE_SECONDS, RESUMED_SECONDS = 10.0, 10


def growth(bench: Bench, pending: list[int]) -> dict[str, Any]:
    """A burst with so many others pending: a third in the window, a third beyond, a third overdue and paused."""
    from tasksapp.models import UNTIL_RESUMED

    found: dict[str, Any] = {}
    bench.empty()
    kinds = [
        (bench.biz_type("grow.near", "ok/near"), timedelta(minutes=50)),
        (bench.biz_type("grow.far", "ok/far"), timedelta(hours=5)),
        (bench.biz_type("grow.paused", "ok/paused", paused_until=UNTIL_RESUMED), timedelta(minutes=-5)),
    ]
    there = 0
    for number in pending:
        for code, ahead in kinds:
            fill(code, (number - there) // 3, due=timezone.now() + ahead, first=there)
        there = number
        rebuild_timers()
        with bench.rig.worker() as worker:
            burst = bench.burst(worker, "ok", min(bench.jobs, 5_000))
        found[f"callbacks/s, {number} pending"] = burst.rate
        found[f"worker µs/job, {number} pending"] = burst.cost["worker"]
        found[f"PostgreSQL µs/job, {number} pending"] = burst.cost.get("PostgreSQL")
        bench.say(f"  {number} pending: {burst.rate} callbacks/s, worker {burst.cost['worker']} µs a job")
    bench.empty()
    return found


def paused(bench: Bench, overdue: int) -> dict[str, Any]:
    """An idle worker without and with so many overdue jobs of a paused biz type; then the biz type is resumed."""
    from tasksapp.models import UNTIL_RESUMED, BizType

    bench.empty()
    code = bench.biz_type("paused", "ok/paused", paused_until=UNTIL_RESUMED)
    found: dict[str, Any] = {}
    with bench.rig.worker() as worker:
        time.sleep(3)
        without = bench.idle_cost(worker, IDLE_SECONDS)
        fill(code, overdue, due=timezone.now() - timedelta(hours=1), spread_seconds=60)
        bench.say(f"  {overdue} overdue rows are there")
        time.sleep(3)
        beside = bench.idle_cost(worker, IDLE_SECONDS)
        for name in ("worker", "PostgreSQL", "Redis"):
            if name in beside:
                found[f"idle {name} ms/s"] = without[name]
                found[f"idle {name} ms/s, {overdue} paused"] = beside[name]
        bench.rig.forget_seen()
        now = timezone.now()
        BizType.objects.filter(code=code).update(paused_until=None, resumed_at=now, updated_at=now)
        time.sleep(RESUMED_SECONDS)
        BizType.objects.filter(code=code).update(paused_until=UNTIL_RESUMED, updated_at=timezone.now())
        seen = [one.at_us / 1_000_000 - now.timestamp() for one in bench.rig.seen()]
    by_second = [sum(int(at) == second for at in seen) for second in range(RESUMED_SECONDS)]
    found["callbacks in each second after resuming"] = by_second
    bench.empty()
    return found


def flushed(bench: Bench, pending: int) -> dict[str, Any]:
    """Redis loses everything half a second before so many jobs are due; all of them must fire all the same."""
    from tasksapp.models import Job, Status

    bench.empty()
    code = bench.biz_type("flushed", "ok/flushed")
    bench.rig.forget_seen()
    with bench.rig.worker():
        due = fill_with_timers(code, pending, ahead_seconds=4 + pending / 7_000)
        time.sleep((due - timezone.now()).total_seconds() - 0.5)
        bench.flush()
        wiped = timezone.now().timestamp()
        ended = Job.objects.filter(biz_type__code=code, status=Status.SUCCEEDED)
        wait_until(lambda: ended.count() >= pending, within_seconds=240, otherwise=ended.count, look_seconds=1.0)
    seen = bench.rig.seen()
    bench.empty()
    return {
        f"FLUSHALL, {pending} due: first callback after s": round(min(one.at_us for one in seen) / 1e6 - wiped, 2),
        f"FLUSHALL, {pending} due: last callback after s": round(max(one.at_us for one in seen) / 1e6 - wiped, 1),
        f"FLUSHALL, {pending} due: never came": pending - len({one.job_id for one in seen}),
    }
