"""Is any job lost, or called back after its cancel was accepted, when processes are killed under it?

Question: of 10 000 jobs due over a while, created while all this goes on, how many are never called back, dead, or
    called back after cancel or resolve said yes: while workers are killed with -9 and frozen for longer than their
    leases, Redis is killed, kept away and flushed, and the database crashes and comes back.
Machine: whatever runs it; two workers, one PostgreSQL, one Redis, one receiver with a log of its own.
Command: make chaos NAME=jobs
Result: one JSON line; exit code 0 only if none was lost, none is dead, none came after its cancel or resolve, each
    occurrence of a series and each follow-up is there once, and the database says of each job what the receiver saw.
Caveat: duplicates are counted, not forbidden: jobs are delivered at least once.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

from benchmarks.chaos_features import Features
from benchmarks.jobs_rig import Rig, rig
from benchmarks.result import Result, judged, option
from tests.waiting import wait_until

#: Short, so that what was lost comes back within the run.
LEASE_SECONDS, TIMEOUT_SECONDS = 4, 2
FREEZE_SECONDS = LEASE_SECONDS + TIMEOUT_SECONDS + 2
#: Of none of these may there be any.
WRONG = (
    "missing",
    "not succeeded",
    "not created",
    "rows lost",
    "came after cancel",
    "cancel undone",
    "early",
    "occurrences missing",
    "occurrences twice",
    "came after resolve",
    "resolve undone",
    "follow-ups wrong",
)


class Chaos:
    """One run: jobs are created and cancelled in a thread while the deeds are done."""

    def __init__(self, made: Rig, asked: argparse.Namespace) -> None:
        self.rig, self.asked = made, asked
        self.random = random.Random(asked.seed)
        self.done: Counter[str] = Counter()
        self.created: list[UUID] = []
        self.cancelled: dict[str, int] = {}
        self.refused = 0
        made.set_django_up()
        self.port = made.start_receiver()

    def run(self) -> dict[str, Any]:
        """What came of it."""
        fields = {"timeout_seconds": TIMEOUT_SECONDS, "backoff_min_seconds": 1, "jitter": 0}
        self.features = Features(f"http://127.0.0.1:{self.port}/ok", random=self.random, fields=fields)
        for _ in range(2):
            self.rig.start_worker()
        creating = threading.Thread(target=self.create)
        creating.start()
        deeds: list[Callable[[], None]] = [self.kill_worker, self.freeze_worker, self.kill_redis, self.flush_redis]
        plan = [deeds[n % len(deeds)] for n in range(self.asked.deeds - 1)]
        self.random.shuffle(plan)
        plan.insert(len(plan) // 2, self.crash_database)
        for deed in plan:
            time.sleep(self.asked.seconds / (len(plan) + 1) * self.random.uniform(0.3, 1.0))
            deed()
            self.done[deed.__name__] += 1
        creating.join()
        self.end_series()
        return self.judge()

    def create(self) -> None:
        """Creates the jobs over the run, in small bulks, and calls a tenth of them off."""
        from django.db import Error, connection

        from tasksapp import jobs
        from tasksapp.errors import WrongState
        from tasksapp.jobs.creation import Created, create_many

        bulk, rounds = 20, max(1, self.asked.jobs // 20)
        waiting: list[UUID] = []
        unpaid: list[str] = []
        while len(self.created) < rounds * bulk:
            began = time.monotonic()
            try:
                requests = [self.features.request() for _ in range(bulk)]
                made = create_many(requests)
                ids = [outcome.job_id for outcome in made if isinstance(outcome, Created)]
                self.created += ids
                waiting += self.random.sample(ids, bulk // 10)
                unpaid += [request.biz_id for request in requests if request.biz_id][:1]
                if len(unpaid) > 2:
                    self.features.resolve(unpaid.pop(0))
                while len(waiting) > 4:
                    job_id = waiting.pop(0)
                    jobs.cancel(job_id)
                    self.cancelled[str(job_id)] = time.time_ns() // 1000
            except WrongState:
                self.refused += 1
            except Error:
                connection.close()
                time.sleep(0.2)
            time.sleep(max(0.0, self.asked.seconds / rounds - (time.monotonic() - began)))
        connection.close()

    def end_series(self) -> None:
        """The series makes no more occurrences; the database may just be coming back."""
        from django.db import Error, connection

        def ended() -> bool:
            try:
                self.features.end()
            except Error:
                connection.close()
                return False
            return True

        wait_until(ended, within_seconds=60, look_seconds=0.5)

    def kill_worker(self) -> None:
        """A worker dies and another one takes its place."""
        worker = self.rig.workers.pop(self.random.randrange(len(self.rig.workers)))
        worker.kill()
        worker.wait()
        self.rig.start_worker()

    def freeze_worker(self) -> None:
        """A worker stands still for longer than its leases last, and goes on as if nothing had been.

        In the middle of its sends, where there are any: some callbacks have been checked and not been sent.
        """
        worker = self.random.choice(self.rig.workers)
        before = self.rig.count_seen()
        with contextlib.suppress(TimeoutError):
            wait_until(lambda: self.rig.count_seen() > before, within_seconds=3, look_seconds=0.001)
        worker.send_signal(signal.SIGSTOP)
        time.sleep(FREEZE_SECONDS)
        worker.send_signal(signal.SIGCONT)

    def kill_redis(self) -> None:
        """Redis dies, is away for a while, and comes back with what its append-only file kept."""
        self.rig.redis.kill()
        time.sleep(self.asked.redis_away)
        self.rig.redis.restart()

    def flush_redis(self) -> None:
        """Redis forgets everything, once it has read its file, where it was killed a moment ago."""
        from redis.exceptions import BusyLoadingError

        def flushed() -> bool:
            with self.rig.redis.client() as client, contextlib.suppress(BusyLoadingError):
                return bool(client.flushall())
            return False

        wait_until(flushed, within_seconds=60, look_seconds=0.1)

    def crash_database(self) -> None:
        """The database crashes under load and recovers."""
        self.rig.database.restart()

    def judge(self) -> dict[str, Any]:
        """Waits until every job has ended, and compares the database with what the receiver saw."""
        from django.db import Error, connection

        from tasksapp.models import LIVE, Job

        def ended() -> bool:
            try:
                return not Job.objects.filter(status__in=LIVE).exists()
            except Error:
                connection.close()
                return False

        live = Job.objects.filter(status__in=LIVE).order_by("id")
        shown = live.values_list("biz_type__code", "status", "attempts", "next_run_at", "lease_until", "last_error")
        wait_until(
            ended,
            within_seconds=120,
            otherwise=lambda: (live.count(), list(shown[:20])),
            look_seconds=0.5,
        )
        statuses = {str(job_id): status for job_id, status in Job.objects.values_list("id", "status")}
        seen = self.rig.seen()
        first: dict[str, int] = {}
        for one in seen:
            first.setdefault(one.job_id, one.at_us)
        last = {one.job_id: one.at_us for one in seen}
        return {
            "created": len(self.created),
            "jobs, occurrences and follow-ups": len(statuses),
            **{name.replace("_", " "): count for name, count in sorted(self.done.items())},
            "missing": sum(job_id not in first for job_id, status in statuses.items() if status == "succeeded"),
            "not succeeded": sum(status not in ("succeeded", "cancelled") for status in statuses.values()),
            "not created": max(0, self.asked.jobs // 20 * 20 - len(self.created)),
            "rows lost": len(set(map(str, self.created)) - statuses.keys()),
            "cancelled": len(self.cancelled),
            "came after cancel": sum(last.get(job_id, 0) > at_us for job_id, at_us in self.cancelled.items()),
            "cancel undone": sum(statuses.get(job_id) != "cancelled" for job_id in self.cancelled),
            "cancel refused": self.refused,
            "early": sum(one.lateness_ms < 0 for one in seen),
            **self.features.judge(last_seen=last),
            "duplicates": len(seen) - len(first),
        }


def main(asked: argparse.Namespace) -> Result:
    print("seed", asked.seed, file=sys.stderr)
    with rig(DELAYHUB_LEASE_SECONDS=str(LEASE_SECONDS)) as made:
        found = {"seed": asked.seed, **Chaos(made, asked).run()}
    some = ("created", "cancelled", "resolved", "occurrences", "kill worker", "kill redis", "crash database")
    return Result(found, judged(found, none=WRONG, some=some))


OPTIONS = [
    option("--jobs", 10_000),
    option("--seconds", 90.0, "over which they are created"),
    option("--deeds", 13),
    option("--redis-away", 20.0, "seconds"),
    option("--seed", random.randrange(1_000_000)),
]
