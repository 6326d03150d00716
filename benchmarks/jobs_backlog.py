"""Parts of the jobs benchmark with many jobs waiting: growth, and a paused million."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from django.utils import timezone

from benchmarks.jobs_bench import Bench
from benchmarks.jobs_fill import fill, rebuild_timers

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
