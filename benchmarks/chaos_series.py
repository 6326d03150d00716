"""Does each occurrence of a series happen exactly once, at its moment, while those who make and run them are killed?

Question: of 10 000 occurrences of 100 series over six simulated weeks in ten time zones, whose clocks change on the
    way, how many are lost, doubled, or due at another moment than the wall clock says, with two processes that make and
    run them, killed with -9 at random?
Machine: whatever runs it; two processes and one PostgreSQL. The clock is simulated: it goes on to the next moment when
    nothing is left to do at this one.
Command: make chaos NAME=series
Result: one JSON line; exit code 0 only if nothing was lost, doubled or at another moment.
Caveat: what is expected is found minute by minute, by the rules on the page of series, without the code that is tested.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.jobs_rig import rig
from benchmarks.result import Result, judged, option
from tests.wall_clock_oracle import MINUTE, Named, expected, walk

#: Their clocks change between the first and the last simulated day, but for Shanghai's.
ZONES = (
    "Europe/Berlin", "Europe/London", "America/New_York", "America/Los_Angeles", "America/Havana",
    "America/Santiago", "Africa/Cairo", "Australia/Sydney", "Australia/Lord_Howe", "Asia/Shanghai",
)  # fmt: skip
CRONS = (
    *("30 2 * * *", "0 0 * * *", "15 1 * * *", "30 1,2,3 * * *", "45 1 * * *", "0,15 2,14 * * *", "*/30 1-3 * * *"),
    *("30 */8 * * *", "*/20 0 * * *", "0 23 * * *"),
)
#: From before the changes of March to after those of April; Cairo's comes later.
BEGIN, DAYS = datetime(2026, 3, 5, tzinfo=UTC), 42
#: Of none of these may there be any.
WRONG = (
    *("lost", "at_another_moment", "made_twice", "due_at_another_moment", "not_succeeded"),
    "run_more_or_less_than_once",
)


class SimulatedClock:
    """A ``delayhub.clock.Clock`` that processes share."""

    def __init__(self, shared: Any) -> None:
        self.shared = shared

    def now_ms(self) -> int:
        return int(self.shared.value)

    def monotonic(self) -> float:
        return time.monotonic()


def work(shared: Any) -> None:
    """Makes and runs what is due, for ever."""
    import django

    django.setup()
    from delayhub.clock import moment
    from tasksapp.models import Job
    from tasksapp.series.maker import SeriesMaker
    from tasksapp.sql.claim_jobs import claim_jobs
    from tasksapp.sql.leases import return_lost_leases
    from tasksapp.sql.write_outcomes import write_outcomes
    from tests.outcomes import finished, tried

    clock = SimulatedClock(shared)
    maker, name = SeriesMaker(using="default", clock=clock), f"w{os.getpid()}"
    while True:
        seen = clock.now_ms()
        has_made = maker.run_once().made
        now = moment(clock.now_ms())
        return_lost_leases(now=now, limit=100, max_system_errors=1000, using="default")
        due = list(Job.objects.filter(status="pending", next_run_at__lte=now).values_list("id", flat=True)[:50])
        if due:
            answer = claim_jobs(due, now=now, lease_seconds=2, worker=name, using="default")
            outcomes = [finished(job.id, answer.token, tried=tried(started_at=now)) for job in answer.claimed]
            write_outcomes(outcomes, now=now, worker=name, using="default")
        elif not has_made:
            # Until the clock goes on, or the other one leaves something.
            end = time.monotonic() + 0.2
            while clock.now_ms() == seen and time.monotonic() < end:
                time.sleep(0.002)


class Run:
    """One run of the simulation."""

    def __init__(self, *, days: int, kills: int, each_of: int, seed: int) -> None:
        self.end = BEGIN + timedelta(days=days)
        self.days, self.kills, self.each_of = days, kills, each_of
        self.random = random.Random(seed)
        self.context = multiprocessing.get_context("spawn")
        self.shared = self.context.Value("d", BEGIN.timestamp() * 1000, lock=False)
        self.workers: list[Any] = []
        self.killed = 0

    def store(self) -> dict[int, set[datetime]]:
        """Stores the series; gives back what is expected of each."""
        from tasksapp.models import BizType, Series

        biz_type = BizType.objects.create(code="chaos", url="http://127.0.0.1:9/", timeout_seconds=0.1)
        wanted = {}
        for zone in ZONES:
            minutes = walk(zone, BEGIN + MINUTE, self.end + MINUTE)
            for number in range(self.each_of):
                cron = CRONS[number % len(CRONS)]
                row = Series(
                    biz_type=biz_type, name=f"{zone} {number}", cron=cron, time_zone=zone, catch_up="all",
                    overlap=("start", "skip")[number % 2], ends_at=self.end, created_at=BEGIN, updated_at=BEGIN,
                    make_at=BEGIN,
                )  # fmt: skip
                moments = set(expected(Named(cron), minutes))
                row.next_occurrence_at = min(moments)
                row.save()
                wanted[row.pk] = moments
        return wanted

    def run(self) -> dict[str, Any]:
        """What came of it."""
        from django.db import connections

        wanted = self.store()
        connections.close_all()
        for _ in range(2):
            self.start()
        kill_at = sorted(self.random.uniform(0, self.days) for _ in range(self.kills))
        began = time.monotonic()
        while (now := self.now()) < self.end + timedelta(hours=1):
            while kill_at and now > BEGIN + timedelta(days=kill_at[0]):
                kill_at.pop(0)
                self.kill()
                sys.stderr.write(f"{now:%d %B}: killed one, {round(time.monotonic() - began)} s\n")
            following = self.next_moment(now)
            if following is None:
                break
            if following <= now:
                time.sleep(0.004)
                continue
            # Without a lock, which a process that is killed may hold.
            self.shared.value = following.timestamp() * 1000 + 1
        for worker in self.workers:
            worker.kill()
            worker.join()
        return {**self.judge(wanted), "killed": self.killed, "seconds": round(time.monotonic() - began)}

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.shared.value / 1000, UTC)

    def start(self) -> None:
        worker = self.context.Process(target=work, args=(self.shared,), daemon=True)
        worker.start()
        self.workers.append(worker)

    def kill(self) -> None:
        """Kills one of the two with -9, wherever it is, and starts another."""
        worker = self.workers.pop(self.random.randrange(len(self.workers)))
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
        self.killed += 1
        self.start()

    def next_moment(self, now: datetime) -> datetime | None:
        """When there is something to do next; now, while there is something left."""
        from django.db.models import Min

        from tasksapp.models import Job, Series

        makes = Series.objects.aggregate(at=Min("make_at"))["at"]
        runs = Job.objects.filter(status="pending").aggregate(at=Min("next_run_at"))["at"]
        lost = Job.objects.filter(status="running").aggregate(at=Min("lease_until"))["at"]
        soon = [at for at in (makes, runs) if at is not None]
        if lost is not None:
            # It ends in a moment, or its process was killed: then its lease has to run out.
            time.sleep(0.01)
            soon.append(min(lost + timedelta(milliseconds=1), now + timedelta(milliseconds=500)))
        return min(soon) if soon else None

    def judge(self, wanted: dict[int, set[datetime]]) -> dict[str, Any]:
        """Compares what happened with what was expected."""
        from collections import Counter

        from tasksapp.models import Attempt, Job

        jobs = list(Job.objects.values_list("id", "series_id", "occurrence_at", "due_at", "status"))
        happened = Counter((series, at) for _, series, at, _, _ in jobs)
        everything = {(series, at) for series, moments in wanted.items() for at in moments}
        tries = Counter(Attempt.objects.values_list("job_id", flat=True))
        return {
            "series": len(wanted),
            "occurrences": len(everything),
            "lost": len(everything - happened.keys()),
            "at_another_moment": len(happened.keys() - everything),
            "made_twice": sum(count - 1 for count in happened.values()),
            "due_at_another_moment": sum(due != at for _, _, at, due, _ in jobs),
            "not_succeeded": sum(status != "succeeded" for *_, status in jobs),
            "run_more_or_less_than_once": sum(tries[job_id] != 1 for job_id, *_ in jobs),
        }


def main(given: argparse.Namespace) -> Result:
    with rig() as made:
        made.set_django_up()
        found = Run(days=given.days, kills=given.kills, each_of=given.each, seed=given.seed).run()
    return Result({"seed": given.seed, **found}, judged(found, none=WRONG, some=("occurrences", "killed")))


OPTIONS = [
    option("--days", DAYS),
    option("--kills", 40),
    option("--each", 10, "series of each of the ten zones"),
    option("--seed", random.randrange(10**6)),
]
