"""What the parts of the jobs benchmark are made of: biz types, bursts, steady load, and waiting for their end."""

from __future__ import annotations

import sys
import time
from collections import Counter
from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils import timezone

from benchmarks.figures import percentile
from benchmarks.jobs_cost import Processes, each
from benchmarks.jobs_rig import Rig
from tests.waiting import wait_until

BULK = 500
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Burst(NamedTuple):
    """Jobs that were due at one moment: callbacks a second, and µs of CPU that each cost, by who spent it."""

    rate: int
    cost: dict[str, int]


class Bench:
    """One run over one rig.

    Args:
        made: the rig.
        jobs: how many a burst has.
        seconds: how long steady load lasts.
    """

    def __init__(self, made: Rig, *, jobs: int, seconds: float) -> None:
        self.rig, self.jobs, self.seconds = made, jobs, seconds
        made.set_django_up()
        self.port = made.start_receiver()

    def say(self, text: str) -> None:
        """One line of progress."""
        print(text, file=sys.stderr, flush=True)

    def url(self, path: str) -> str:
        """Where the receiver takes it."""
        return f"http://127.0.0.1:{self.port}/{path}"

    def biz_type(self, code: str, path: str, *, port: int = 0, **fields: object) -> str:
        """The code of a new biz type with that callback."""
        from tasksapp.models import BizType

        url = f"http://127.0.0.1:{port or self.port}/{path}"
        code = f"{code}.{time.time_ns()}"
        BizType.objects.create(code=code, url=url, signing_secret=SECRET, **fields)
        return code

    def create_due(self, code: str, count: int, due: datetime, *, spread_seconds: float = 0.0) -> float:
        """Creates jobs in bulk; the seconds that took."""
        from tasksapp.jobs.creation import JobRequest, create_many

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

    def burst(self, worker: Processes, kind: str, count: int, **fields: object) -> Burst:
        """So many jobs, due at one moment; what they cost counts until all outcomes are written."""
        code = self.biz_type(f"burst.{kind}", f"{kind}/burst", **fields)
        self.rig.forget_seen()
        due = timezone.now() + timedelta(seconds=2 + count / 4_000)
        took = self.create_due(code, count, due)
        before = worker.cpu_seconds()
        if timezone.now() > due:
            raise RuntimeError(f"creating {count} jobs took {took:.1f} s, longer than they had")
        self.wait_until_seen(count)
        last = max(one.at_us for one in self.rig.seen()) / 1_000_000
        self.wait_until_ended(code)
        return Burst(round(count / (last - due.timestamp())), each(before, worker.cpu_seconds(), count))

    def steady(self, name: str, rate: int, *, kind: str = "ok") -> dict[str, float]:
        """Lateness in ms of jobs that are due evenly over some seconds."""
        code = self.biz_type(name, f"{kind}/{name}")
        self.rig.forget_seen()
        count = int(rate * self.seconds)
        self.create_due(code, count, timezone.now() + timedelta(seconds=2), spread_seconds=self.seconds)
        path = f"/{kind}/{name}"
        wait_until(
            lambda: self.of_path(path) >= count, within_seconds=60 + self.seconds, otherwise=lambda: self.of_path(path)
        )
        late = [one.lateness_ms for one in self.rig.seen() if one.path == path]
        self.wait_until_ended(code)
        return {
            "p50": round(percentile(late, 0.5), 2),
            "p99": round(percentile(late, 0.99), 2),
            "early": sum(one < 0 for one in late),
        }

    def of_path(self, path: str) -> int:
        """Callbacks so far to that path."""
        return sum(one.path == path for one in self.rig.seen())

    def idle_cost(self, worker: Processes, seconds: float) -> Counter[str]:
        """ms of CPU a second, by who spends it, while nothing is due."""
        before = worker.cpu_seconds()
        time.sleep(seconds)
        after = worker.cpu_seconds()
        return Counter({name: round((after[name] - before[name]) / seconds * 1_000, 1) for name in after})

    def wait_until_seen(self, count: int, *, seconds: float = 180) -> None:
        """Returns when the receiver has got so many."""
        wait_until(lambda: self.rig.count_seen() >= count, within_seconds=seconds, otherwise=self.rig.count_seen)

    def wait_until_ended(self, code: str) -> None:
        """Returns when no job of the biz type is live."""
        from tasksapp.models import LIVE, Job

        live = Job.objects.filter(biz_type__code=code, status__in=LIVE)
        wait_until(lambda: not live.exists(), within_seconds=60, otherwise=live.count)
