"""How near does the forecast of a drain come to the real one?

Question: 20 000 jobs are due at one moment. When does the forecast say that the last of them is done: before they are
    due, when the drain has just begun, and in its middle? And when was it? With a limit of the rate, with a limit of
    the jobs in flight, and without any.
Machine: whatever runs it; one core for the worker, the other for PostgreSQL, Redis, the receiver and this program.
Command: make bench NAME=forecast
Result: a table on stderr, one JSON line on stdout: for each limit the seconds that the drain took, and by how much
    each forecast was wrong, as a share of that time (+ is too late, - too early).
Caveat: each biz type has had a smaller burst before, so its pace is known, as it is for one that has run for a day;
    without a limit that burst is as large, since a shorter one ends before a pace can be seen. Other work on the
    machine shows, most of all where nothing limits the drain.
"""

from __future__ import annotations

import argparse
import time
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from benchmarks.cores import pin
from benchmarks.jobs_bench import Bench
from benchmarks.jobs_fill import empty, fill_with_timers
from benchmarks.jobs_rig import rig
from benchmarks.result import Result, option
from tests.waiting import wait_until

LIMITS = ["rate", "in flight", "none"]


def main(asked: argparse.Namespace) -> Result:
    limits: dict[str, tuple[int, str, dict[str, Any]]] = {
        "rate": (asked.before, "wait20", {"delivery_rate": asked.rate, "delivery_burst": int(asked.rate)}),
        "in flight": (asked.before, f"wait{asked.wait_ms}", {"max_in_flight": asked.in_flight}),
        "none": (asked.jobs, "ok", {}),
    }
    found: dict[str, Any] = {"jobs": asked.jobs}
    with rig(DELAYHUB_NEAR_WINDOW_SECONDS="3600", DJANGO_SETTINGS_MODULE="benchmarks.forecast_settings") as made:
        pin(0)
        bench = Bench(made, jobs=asked.jobs, seconds=0)
        with made.worker():
            for name in asked.only:
                before, path, fields = limits[name]
                found[name] = []
                for _ in range(asked.drains):
                    found[name].append(drained(bench, name, path=path, before=before, fields=fields))
                    bench.say(f"{name:.<20} {found[name][-1]}")
                    empty()
                kept = [one["within the interval"] for one in found[name]]
                found[f"{name}: within the interval"] = {
                    "when it had begun": f"{sum(begun for begun, _ in kept)} of {len(kept)}",
                    "in the middle": f"{sum(middle for _, middle in kept)} of {len(kept)}",
                }
                bench.say(f"{name:.<20} within the interval: {found[f'{name}: within the interval']}")
    return Result(found)


def drained(bench: Bench, name: str, *, path: str, before: int, fields: dict[str, Any]) -> dict[str, Any]:
    """What the forecasts said of one burst, and what became of it."""
    from delayhub.engine import SystemClock
    from tasksapp.maintenance.counter import Counter
    from tasksapp.models import BizType
    from tasksapp.stats import capacity, drain

    counter = Counter(using="default", clock=SystemClock())
    code = bench.biz_type(f"drain.{name.replace(' ', '')}", path, **fields)
    biz_type = BizType.objects.get(code=code)
    burst(code, before)
    wait_until_counted(biz_type, before)

    due = fill_with_timers(code, bench.jobs, ahead_seconds=ahead(bench.jobs))
    counter.look_ahead()
    (peak, *_) = drain.ahead(biz_type_id=biz_type.id) or [None]
    time.sleep(max(0.0, (due - timezone.now()).total_seconds()) + 1.0)
    counter.count()
    begun = drain.forecast(biz_type)
    wait_until(lambda: ended(biz_type) >= before + bench.jobs // 2, within_seconds=600, look_seconds=1.0)
    counter.count()
    middle = drain.forecast(biz_type)
    wait_until(lambda: ended(biz_type) >= before + bench.jobs, within_seconds=600, look_seconds=1.0)
    last = last_end(biz_type)
    measured = capacity.measure([biz_type])[biz_type.id]

    took = (last - due).total_seconds()

    def error(at: datetime | None) -> float | None:
        return None if at is None else round((at - last).total_seconds() / took, 3)

    return {
        "seconds": round(took, 1),
        "before": error(peak.done_at if peak else due + timedelta(seconds=0)),
        "begun": error(begun.empty_at),
        "middle": error(middle.empty_at),
        "within the interval": [
            each.earliest is not None and each.latest is not None and each.earliest <= last <= each.latest
            for each in (begun, middle)
        ],
        "limited by": str(begun.limited_by),
        "forecast/s": round(begun.capacity_per_second, 1),
        "real/s": round(bench.jobs / took, 1),
        "latency ms": round((measured.latency_seconds or 0) * 1000, 1),
        "sentence": begun.sentence,
    }


def ahead(count: int) -> float:
    """Seconds in which so many jobs can be made."""
    return 6 + count / 4_000


def burst(code: str, count: int) -> None:
    """So many jobs that are due at one moment, and are done."""
    from tasksapp.models import BizType

    biz_type = BizType.objects.get(code=code)
    fill_with_timers(code, count, ahead_seconds=ahead(count))
    wait_until(lambda: ended(biz_type) >= count, within_seconds=600, look_seconds=1.0)


def ended(biz_type: Any) -> int:
    """How many of its jobs have succeeded."""
    from tasksapp.models import Job, Status

    return Job.objects.filter(biz_type=biz_type, status=Status.SUCCEEDED).count()


def last_end(biz_type: Any) -> datetime:
    """When the last of its jobs ended."""
    from tasksapp.models import Job

    at = Job.objects.filter(biz_type=biz_type, finished_at__isnull=False).order_by("-finished_at")
    found: datetime = at.values_list("finished_at", flat=True)[0]
    return found


def wait_until_counted(biz_type: Any, count: int) -> None:
    """Returns when the worker has added all its attempts to the pulses."""
    from django.db.models import Sum

    from tasksapp.models import Pulse

    pulses = Pulse.objects.filter(biz_type=biz_type, kind=Pulse.Kind.SUCCEEDED, span_seconds=60)
    wait_until(lambda: (pulses.aggregate(all=Sum("count"))["all"] or 0) >= count, within_seconds=30, look_seconds=0.5)


OPTIONS = [
    option("--jobs", 20_000, "due at one moment"),
    option("--before", 2_000, "of the burst before, where there is a limit"),
    option("--rate", 200.0, "the limit of the rate"),
    option("--in-flight", 100, "the limit of jobs in flight"),
    option("--wait-ms", 1_000, "the receiver's time, where those are limited"),
    option("--drains", 1, "of each limit, one after the other"),
    option("--only", LIMITS, nargs="*", choices=LIMITS),
]
