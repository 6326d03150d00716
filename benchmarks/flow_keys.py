"""What do flow keys cost, do they keep a busy tenant from holding up the others, and are the limits of each key exact?

Question: callbacks a second of a burst without keys, and of one whose jobs each have another of 100 000 live keys; what
    a key costs in Redis, and what is left of it; how late ten jobs of one tenant are alone, and beside 100 000 due ones
    of another tenant, with a rate and with a receiver that takes half a second for each; and calls of each key in a
    second, while four processes claim and are killed at random.
Machine: whatever runs it; one core for the worker, the other for PostgreSQL, Redis, the receiver and this program.
Command: make bench NAME=flow-keys
Result: one JSON line; rounds take turns so that the machine's drift meets both.
Caveat: other work on the machine shows. Compare ratios within a run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import statistics
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.utils import timezone

from benchmarks.cores import pin
from benchmarks.figures import percentile
from benchmarks.jobs_bench import Bench
from benchmarks.jobs_rig import rig
from benchmarks.result import Result, option
from delayhub.engine import EngineOptions, Gate, Lease, SystemClock, TimerLane
from delayhub.local.redis_server import RedisServer
from tests.waiting import wait_until

#: The rate of each key in the part about limits, its burst, and how many keys there are.
RATE, BURST, KEYS = 20.0, 1, 8


def main(asked: argparse.Namespace) -> Result:
    found: dict[str, Any] = {}
    if asked.only in (None, "limits"):
        found |= limits(asked.seconds)
    if asked.only != "limits":
        with rig(DELAYHUB_NEAR_WINDOW_SECONDS="3600") as made:
            pin(0)
            bench = Bench(made, jobs=asked.jobs, seconds=1)
            if asked.only in (None, "cost"):
                found |= cost(bench, asked)
            if asked.only in (None, "tenant"):
                found |= tenant(bench, asked.backlog)
    return Result(found)


def cost(bench: Bench, asked: argparse.Namespace) -> dict[str, Any]:
    """Callbacks a second without keys and with many live ones, and what a key costs in Redis."""
    rates: dict[str, list[float]] = {"none": [], "keys": []}
    sizes: list[float] = []
    left = 0
    for _ in range(asked.rounds):
        for kind, found in rates.items():
            bench.empty()
            with bench.rig.worker() as worker:
                code = bench.biz_type("burst", "ok/burst")
                if kind == "keys":
                    sizes.append(_live_keys(bench, code, asked.keys))
                bench.rig.forget_seen()
                due = timezone.now() + timedelta(seconds=3 + asked.jobs / 3_000)
                own = {"flow_key": lambda n: f"customer-{n % asked.keys}"} if kind == "keys" else {}
                bench.create_due(code, asked.jobs, due, **own)
                bench.wait_until_seen(asked.jobs)
                last = max(one.at_us for one in bench.rig.seen()) / 1_000_000
                bench.wait_until_ended(code)
                found.append(asked.jobs / (last - due.timestamp()))
                if kind == "keys":
                    left += _left_of_keys(bench, code, asked.keys)
                del worker
            bench.say(f"  {kind}: {found[-1]:.0f} callbacks/s")
    medians = {kind: statistics.median(values) for kind, values in rates.items()}
    return {
        "callbacks/s, no key": round(medians["none"]),
        f"callbacks/s, {asked.keys} live keys": round(medians["keys"]),
        "share lost": round(1 - medians["keys"] / medians["none"], 3),
        "Redis bytes of a key with one timer": round(statistics.median(sizes)),
        "keys of Redis left of them": left,
    }


def _live_keys(bench: Bench, code: str, count: int) -> float:
    """Sets a timer that is due later for each of so many keys; the bytes of each."""
    with bench.rig.redis.client() as client:
        lane, later = TimerLane(client, "delayhub.timers"), SystemClock().now_ms() + 3_000_000
        before = client.info("memory")["used_memory"]
        for number in range(count):
            lane.ensure(code, [(f"0197f3a2-b4c5-7000-8000-{number:012d}", later)], key=f"customer-{number}")
        size: float = (client.info("memory")["used_memory"] - before) / count
    return size


def _left_of_keys(bench: Bench, code: str, count: int) -> int:
    """Cancels the timers that :func:`_live_keys` set; how many keys of Redis are left of their flow keys."""
    with bench.rig.redis.client() as client:
        lane = TimerLane(client, "delayhub.timers")
        for number in range(count):
            lane.cancel(code, [f"0197f3a2-b4c5-7000-8000-{number:012d}"], key=f"customer-{number}")
        lines = client.scan_iter("*:turns", count=10_000), client.scan_iter("*:key:*", count=10_000)
        return sum(1 for names in lines for _ in names)


def tenant(bench: Bench, backlog: int) -> dict[str, Any]:
    """Lateness in ms of ten jobs of one tenant, twenty times: alone, and beside the backlog of another."""
    found: dict[str, Any] = {}
    for kind, count, path, rate in (
        ("alone", 0, "ok/tenants", 2_000.0),
        ("beside", backlog, "ok/tenants", 2_000.0),
        ("slow receiver, alone", 0, "wait500", None),
        ("slow receiver, beside", backlog, "wait500", None),
    ):
        bench.empty()
        code = bench.biz_type("tenants", path, delivery_rate=rate, delivery_burst=100)
        bench.create_due(code, count, timezone.now() - timedelta(minutes=1), flow_key=lambda _: "busy")
        with bench.rig.worker():
            time.sleep(5)  # the ramp and the first claims
            small: list[Any] = []
            for _ in range(20):
                due = timezone.now() + timedelta(seconds=0.5)
                small += bench.create_due(code, 10, due, flow_key=lambda _: "small")
                time.sleep(1)
            late = _lateness(small)
        found |= {
            f"lateness ms, {kind}, p50": percentile(late, 0.5),
            f"lateness ms, {kind}, p99": percentile(late, 0.99),
        }
        bench.say(f"  {kind}: p50 {percentile(late, 0.5):.0f}, p99 {percentile(late, 0.99):.0f} ms")
    return found


def _lateness(ids: list[Any]) -> list[float]:
    from tasksapp.models import Attempt

    deadline = time.monotonic() + 60
    while True:
        late = list(Attempt.objects.filter(job_id__in=ids).values_list("lateness_ms", flat=True))
        if len(late) >= len(ids):
            return [float(each) for each in late]
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {len(late)} of {len(ids)} jobs had an attempt within a minute")
        time.sleep(0.5)


def limits(seconds: float) -> dict[str, Any]:
    """How far calls of each key in any second are off its rate, while four processes claim and are killed."""
    with TemporaryDirectory() as folder, RedisServer() as server, server.client() as client:
        lane = TimerLane(client, "timers")
        lane.set_gate("q", Gate(key_rate_per_second=RATE, key_burst=BURST))
        for key in range(KEYS):
            timers = [(f"{key}-{number}", 1) for number in range(int(RATE * (seconds + 60) * 2))]
            lane.ensure("q", timers, key=f"k{key}")
        log = Path(folder) / "log"
        log.touch()
        context = multiprocessing.get_context("spawn")
        workers = [context.Process(target=_claim_on, args=(server.url, str(log))) for _ in range(4)]
        for worker in workers:
            worker.start()
        # All of them: a process that only starts claims nothing, which on a busy machine takes seconds.
        wait_until(lambda: log.read_text().count("begins") >= 4, within_seconds=60)
        end, kills = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            time.sleep(random.uniform(1.0, 2.5))
            place = random.randrange(4)
            pid = workers[place].pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            workers[place].join()
            kills += 1
            workers[place] = context.Process(target=_claim_on, args=(server.url, str(log)))
            workers[place].start()
        for worker in workers:
            worker.kill()
            worker.join()
        calls: dict[str, list[int]] = {}
        for line in log.read_text().splitlines():
            key, _, at_us = line.partition(" ")
            if key == "begins":
                continue
            calls.setdefault(key, []).append(int(at_us))
    most, least = _per_second(calls)
    return {"kills": kills, "rate of a key": RATE, "most calls in a second": most, "least calls in a second": least}


def _claim_on(url: str, log: str) -> None:
    """Claims until it is killed, and writes down each call: its key and Redis' time."""
    import redis

    client = redis.Redis.from_url(url)
    lane = TimerLane(client, "timers", options=EngineOptions(lease_seconds=1.0))
    held: list[Lease] = []
    with Path(log).open("a", buffering=1) as file:
        file.write("begins 0\n")
        while True:
            claim = lane.claim(100, acknowledged=held)
            lines = [f"{name.partition('-')[0]} {claim.now_us}\n" for batch in claim.batches for name in batch.ids]
            file.write("".join(lines))
            held = [Lease("timers", batch.queue, name, batch.token) for batch in claim.batches for name in batch.ids]
            if not held:
                wait = (claim.come_back_ms or 0) - claim.now_us / 1000
                time.sleep(min(0.05, max(0.0005, wait / 1000)))


def _per_second(calls: dict[str, list[int]]) -> tuple[int, int]:
    """The most and the least calls of a key in a whole second, without the first and the last ones."""
    counted: list[int] = []
    for times in calls.values():
        first, last = min(times) // 1_000_000 + 2, max(times) // 1_000_000 - 1
        seconds = Counter(at // 1_000_000 for at in times)
        counted += [seconds[second] for second in range(first, last)]
    return max(counted), min(counted)


OPTIONS = [
    option("--keys", 100_000, "live keys"),
    option("--jobs", 20_000, "jobs of a burst"),
    option("--backlog", 100_000, "due jobs of the busy tenant"),
    option("--rounds", 3),
    option("--seconds", 20.0, "how long processes claim and are killed"),
    option("--only", choices=["cost", "tenant", "limits"]),
]
