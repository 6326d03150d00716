"""What does a job cost, from its row to its callback?

Question: creates a second (bulk, single), callbacks a second when many are due at once (all taken, all failing) beside
    a plain Celery task that posts with ``requests``, lateness at a steady rate, bytes in Redis, a fast biz type beside
    a slow receiver, the cost of a backlog that is paused, and how a delivery's cost grows with what is pending.
Machine: whatever runs it; one core for the worker, the other for PostgreSQL, Redis and the receiver.
Command: make bench-jobs
Result: one JSON line.
Caveat: PostgreSQL with its own defaults (fsync on); other work on the machine shows. Compare ratios within a run.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from jobs_rig import OTHER_CORE, WORKER_CORE, Rig, percentile, rig, wait_until

BULK = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=20_000, help="due at one moment")
    parser.add_argument("--seconds", type=float, default=10.0, help="of steady load")
    parser.add_argument("--only", nargs="*", default=[], help="create memory bursts steady slow baseline growth")
    parser.add_argument("--pending", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    asked = parser.parse_args()
    with rig(DELAYHUB_NEAR_WINDOW_SECONDS="3600") as made:
        os.sched_setaffinity(0, {OTHER_CORE})
        bench = Bench(made, jobs=asked.jobs, seconds=asked.seconds, pending=asked.pending)
        print(json.dumps(bench.figures(asked.only), ensure_ascii=False))


class Bench:
    """One run over one rig."""

    def __init__(self, made: Rig, *, jobs: int, seconds: float, pending: list[int]) -> None:
        self.rig, self.jobs, self.seconds, self.pending = made, jobs, seconds, pending
        made.set_django_up()
        self.port = made.start_receiver()

    def figures(self, only: list[str]) -> dict[str, Any]:
        """The figures of the parts asked for, or of all."""
        parts: dict[str, Callable[[], dict[str, Any]]] = {
            "create": self.create,
            "memory": self.memory,
            "bursts": self.bursts,
            "steady": self.steady_load,
            "slow": self.beside_a_slow_receiver,
            "baseline": self.baseline,
            "growth": self.growth,
        }
        found: dict[str, Any] = {"jobs": self.jobs}
        for name in only or parts:
            found |= parts[name]()
        if "callbacks/s" in found and "plain task/s" in found:
            found["times a plain task"] = round(found["callbacks/s"] / found["plain task/s"], 1)
        return found

    def bursts(self) -> dict[str, Any]:
        """Many due at one moment, and what the worker spent on each."""
        with self.rig.worker() as spent:
            taken = self.burst("ok", self.jobs)
        with self.rig.worker():
            failing = self.burst("fail", self.jobs // 2, max_attempts=1)
        return {
            "callbacks/s": taken,
            "callbacks/s, all failing": failing,
            "worker CPU µs/job": round(spent.cpu_seconds / self.jobs * 1_000_000),
        }

    def steady_load(self) -> dict[str, Any]:
        """Lateness at 200 a second."""
        with self.rig.worker():
            late = self.steady("steady", 200)
        return {f"lateness ms, 200/s, {name}": value for name, value in late.items()}

    def biz_type(self, code: str, path: str, *, port: int = 0, **fields: Any) -> str:
        from tasksapp.models import BizType

        url = f"http://127.0.0.1:{port or self.port}/{path}"
        secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        BizType.objects.create(code=code, url=url, signing_secret=secret, **fields)
        return code

    def create_due(self, code: str, count: int, due: datetime, *, spread_seconds: float = 0.0) -> float:
        """Creates jobs in bulk; the seconds that took."""
        from tasksapp.scheduling import JobRequest, create_many

        began = time.perf_counter()
        for start in range(0, count, BULK):
            part = range(start, min(count, start + BULK))
            create_many(
                [
                    JobRequest(
                        biz_type=code,
                        biz_id=f"order-{n}",
                        due_at=due + timedelta(seconds=spread_seconds * n / count),
                        body={"order": n, "note": "the customer did not pay"},
                    )
                    for n in part
                ]
            )
        return time.perf_counter() - began

    def create(self) -> dict[str, Any]:
        from tasksapp.models import Job
        from tasksapp.scheduling import create

        self.biz_type("created", "ok/created")
        os.sched_setaffinity(0, {WORKER_CORE})
        far = timezone.now() + timedelta(minutes=40)
        bulk = self.create_due("created", self.jobs, far)
        began = time.perf_counter()
        for n in range(self.jobs // 20):
            create("created", biz_id=f"order-{n}", due_at=far, body={"order": n})
        single = time.perf_counter() - began
        os.sched_setaffinity(0, {OTHER_CORE})
        Job.objects.all().delete()
        return {
            "creates/s, bulk of 500": round(self.jobs / bulk),
            "creates/s, single": round(self.jobs // 20 / single),
        }

    def memory(self) -> dict[str, Any]:
        from tasksapp.models import Job

        with self.rig.redis.client() as client:
            client.flushall()
            before = client.info("memory")["used_memory"]
            self.create_due("created", self.jobs, timezone.now() + timedelta(minutes=40), spread_seconds=600)
            near = client.info("memory")["used_memory"] - before
            client.flushall()
            before = client.info("memory")["used_memory"]
            self.create_due("created", self.jobs, timezone.now() + timedelta(hours=5))
            far = client.info("memory")["used_memory"] - before
        Job.objects.all().delete()
        return {
            "Redis bytes/job": round(near / self.jobs, 1),
            "Redis bytes/job beyond the window": round(far / self.jobs, 2),
        }

    def burst(self, kind: str, count: int, **fields: Any) -> int:
        """Callbacks a second, of so many that are due at one moment."""
        code = self.biz_type(f"burst.{kind}.{time.time_ns()}", f"{kind}/burst", **fields)
        self.rig.forget_seen()
        due = timezone.now() + timedelta(seconds=2 + count / 4_000)
        took = self.create_due(code, count, due)
        if timezone.now() > due:
            raise RuntimeError(f"creating {count} jobs took {took:.1f} s, longer than they had")
        wait_until(lambda: self.rig.count_seen() >= count, seconds=120, otherwise=self.rig.count_seen)
        seen = self.rig.seen()
        last = max(one.at_us for one in seen) / 1_000_000
        self.wait_until_ended(code)
        return round(count / (last - due.timestamp()))

    def steady(self, name: str, rate: int, *, kind: str = "ok", code: str = "") -> dict[str, float]:
        """Lateness of jobs that are due evenly over some seconds."""
        code = code or self.biz_type(f"{name}.{time.time_ns()}", f"{kind}/{name}")
        self.rig.forget_seen()
        count = int(rate * self.seconds)
        self.create_due(code, count, timezone.now() + timedelta(seconds=2), spread_seconds=self.seconds)
        path = f"/{kind}/{name}"
        wait_until(lambda: self.of_path(path) >= count, seconds=60 + self.seconds, otherwise=lambda: self.of_path(path))
        late = [one.lateness_ms for one in self.rig.seen() if one.path == path]
        self.wait_until_ended(code)
        return {"p50": percentile(late, 0.5), "p99": percentile(late, 0.99), "early": sum(one < 0 for one in late)}

    def of_path(self, path: str) -> int:
        return sum(one.path == path for one in self.rig.seen())

    def beside_a_slow_receiver(self) -> dict[str, Any]:
        """The fast one's lateness alone, and beside jobs at 50/s whose receiver takes ten seconds."""
        with self.rig.worker():
            alone = self.steady("alone", 100)
            slow = self.biz_type("slow", "slow/one", port=self.rig.start_receiver(), timeout_seconds=30)
            self.create_due(slow, int(50 * (self.seconds + 4)), timezone.now(), spread_seconds=self.seconds + 4)
            beside = self.steady("beside", 100)
            self.wait_until_ended(slow)
        return {"fast p99 ms, alone": alone["p99"], "fast p99 ms, beside a slow one": beside["p99"]}

    def wait_until_ended(self, code: str) -> None:
        from tasksapp.models import LIVE, Job

        live = Job.objects.filter(biz_type__code=code, status__in=LIVE)
        wait_until(lambda: not live.exists(), seconds=60, otherwise=live.count)

    def baseline(self) -> dict[str, Any]:
        """Plain Celery tasks a second."""
        count = max(self.jobs // 10, 100)
        self.rig.extra |= {"BASELINE_BROKER": self.rig.redis.url}
        os.environ["BASELINE_BROKER"] = self.rig.redis.url
        self.rig.forget_seen()
        from jobs_baseline import app

        with app.producer_or_acquire() as producer:
            for n in range(count):
                app.send_task(
                    "baseline.post", args=[f"http://127.0.0.1:{self.port}/ok/plain", {"n": n}], producer=producer
                )
        with self.rig.worker(app="jobs_baseline", queues="celery"):
            wait_until(lambda: self.rig.count_seen() >= count, seconds=120, otherwise=self.rig.count_seen)
        at = sorted(one.at_us for one in self.rig.seen())
        return {"plain task/s": round((count - 1) / (at[-1] - at[0]) * 1_000_000)}

    def growth(self) -> dict[str, Any]:
        """A burst's rate with so many others pending: a third in the window, a third beyond, a third paused."""
        from tasksapp.models import UNTIL_RESUMED, Job

        found: dict[str, Any] = {}
        if not self.pending:
            return found
        Job.objects.all().delete()
        kinds = [
            (self.biz_type("grow.near", "ok/near"), timedelta(minutes=50)),
            (self.biz_type("grow.far", "ok/far"), timedelta(hours=5)),
            (self.biz_type("grow.paused", "ok/paused", paused_until=UNTIL_RESUMED), timedelta(minutes=-5)),
        ]
        there = 0
        for pending in self.pending:
            for code, ahead in kinds:
                self.create_due(code, (pending - there) // 3, timezone.now() + ahead)
            there = pending
            with self.rig.worker():
                found[f"callbacks/s, {pending} pending"] = self.burst("ok", min(self.jobs, 5_000))
        return found


if __name__ == "__main__":
    main()
