"""How long does one worker make 100 000 series at one midnight, and are other jobs on time meanwhile?

Question: 100 000 series have an occurrence at the same moment. How long does it take until the next one of each is
    made, and how late are callbacks of other jobs, 100 a second, before and meanwhile?
Machine: whatever runs it; one worker, one PostgreSQL, one Redis, one receiver.
Command: make bench NAME=series
Result: one JSON line.
Caveat: the jobs that are made are due tomorrow: what is measured is making them, not delivering them.
"""

from __future__ import annotations

import argparse
import time
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from benchmarks.jobs_bench import Bench, FreshJobs
from benchmarks.jobs_rig import rig
from benchmarks.result import Result, option

#: Other jobs that are created a second.
OTHERS = 100


def store(count: int, *, waits: timedelta) -> datetime:
    """Stores the series, whose midnight comes so soon; when that is."""
    from tasksapp.models import BizType, Series

    now = timezone.now()
    midnight = now + waits
    biz_type = BizType.objects.create(code="nightly", url="http://127.0.0.1:9/")
    rows = [
        Series(
            biz_type=biz_type, name=f"n{number}", cron="0 0 * * *", time_zone="Asia/Shanghai", created_at=now,
            updated_at=now, make_at=midnight,
        )
        for number in range(count)
    ]  # fmt: skip
    from tasksapp.series.plan import first_occurrence

    first = first_occurrence(rows[0], after=midnight)
    for row in rows:
        row.next_occurrence_at = first
    Series.objects.bulk_create(rows, batch_size=2_000)
    return midnight


def main(given: argparse.Namespace) -> Result:
    with rig() as made:
        bench = Bench(made)
        other = bench.biz_type("other", "ok")
        from tasksapp.models import Series

        made.start_worker()
        fresh = FreshJobs(bench, other, per_second=OTHERS)
        fresh.run(15)
        found: dict[str, Any] = {"series": given.series, **fresh.lateness("alone")}
        midnight = store(given.series, waits=timedelta(seconds=30))
        time.sleep(max(0.0, (midnight - timezone.now()).total_seconds()))
        began, ended = time.monotonic(), list[float]()

        def is_over() -> bool:
            if not Series.objects.filter(make_at__lte=timezone.now()).exists():
                ended.append(time.monotonic())
            return bool(ended)

        fresh = FreshJobs(bench, other, per_second=OTHERS)
        fresh.run(None, until=is_over)
        seconds = ended[0] - began
        found |= {
            "seconds": round(seconds, 1),
            "a second": round(given.series / seconds),
            **fresh.lateness("meanwhile"),
        }
    return Result(found)


OPTIONS = [
    option("--series", 100_000),
]
