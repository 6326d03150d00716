"""What the parts of the jobs benchmark are made of: biz types, bursts, fresh jobs, and waiting for their end."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from benchmarks.figures import percentile
from benchmarks.jobs_rig import Rig
from tests.waiting import wait_until

BULK = 500
#: Fresh jobs that are known ahead come so many seconds later.
AHEAD = (2.0, 6.0)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Bench:
    """One run over one rig."""

    def __init__(self, made: Rig) -> None:
        self.rig = made
        made.set_django_up()
        self.port = made.start_receiver()

    def say(self, text: str) -> None:
        """One line of progress."""
        print(text, file=sys.stderr, flush=True)

    def biz_type(self, code: str, path: str, *, port: int = 0, **fields: object) -> str:
        """The code of a new biz type with that callback."""
        from tasksapp.models import BizType

        url = f"http://127.0.0.1:{port or self.port}/{path}"
        code = f"{code}.{time.time_ns()}"
        BizType.objects.create(code=code, url=url, signing_secret=SECRET, **fields)
        return code

    def create_due(
        self, code: str, count: int, due: datetime, *, spread_seconds: float = 0.0, **fields: Callable[[int], object]
    ) -> list[Any]:
        """Creates jobs in bulk, some fields of which depend on their number; their ids."""
        from tasksapp.jobs.creation import JobRequest, create_many

        requests = [
            JobRequest(
                biz_type=code,
                due_at=due + timedelta(seconds=spread_seconds * n / count),
                body={"order": n, "note": "the customer did not pay"},
                **({"biz_id": f"order-{n}"} | {name: field(n) for name, field in fields.items()}),
            )
            for n in range(count)
        ]
        made = [one for at in range(0, count, BULK) for one in create_many(requests[at : at + BULK])]
        return [outcome.job_id for outcome in made]

    def wait_until_seen(self, count: int, *, seconds: float = 180) -> None:
        """Returns when the receiver has got so many."""
        wait_until(lambda: self.rig.count_seen() >= count, within_seconds=seconds, otherwise=self.rig.count_seen)

    def wait_until_ended(self, code: str) -> None:
        """Returns when no job of the biz type is live."""
        from tasksapp.models import LIVE, Job

        live = Job.objects.filter(biz_type__code=code, status__in=LIVE)
        wait_until(lambda: not live.exists(), within_seconds=60, otherwise=live.count)


class FreshJobs:
    """Jobs that callers create while the benchmark runs, in threads of their own: half of them are due at once.

    Args:
        bench: the run.
        code: their biz type.
        per_second: how many there are to be.
        creators: how many threads share them; one makes fewer where each create waits for a busy database.
    """

    def __init__(self, bench: Bench, code: str, *, per_second: float, creators: int = 1) -> None:
        self._bench, self._code, self._pause = bench, code, creators / per_second
        self._creators = creators
        #: How long jobs were created, when that is over.
        self.seconds = 0.0
        self._ids: set[UUID] = set()
        self._stop = threading.Event()
        bench.rig.forget_seen()

    def run(self, seconds: float | None, *, until: Any = lambda: False) -> None:
        """Creates jobs for so long, or until the fact is true; then waits for their callbacks."""
        threads = [threading.Thread(target=self._create, args=(5 + number,)) for number in range(self._creators)]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        end = began + (seconds or 3_600)
        while time.monotonic() < end and not until():
            time.sleep(1.0)
        self._stop.set()
        for thread in threads:
            thread.join()
        self.seconds = time.monotonic() - began
        wait_until(lambda: len(self._late()) >= len(self._ids), within_seconds=60, look_seconds=0.5)

    def lateness(self, name: str) -> dict[str, Any]:
        """Percentiles, in ms."""
        late = self._late()
        return {
            f"fresh jobs {name}": len(late),
            f"p50 ms, {name}": round(percentile(late, 0.5), 1),
            f"p99 ms, {name}": round(percentile(late, 0.99), 1),
            f"worst ms, {name}": round(max(late), 1),
        }

    def _late(self) -> list[float]:
        mine = {str(job_id) for job_id in self._ids}
        return [one.lateness_ms for one in self._bench.rig.seen() if one.job_id in mine]

    def _create(self, seed: int) -> None:
        from django.db import connection

        from tasksapp import jobs

        draw = random.Random(seed)
        next_at = time.monotonic()
        while not self._stop.is_set():
            delay = draw.uniform(*AHEAD) if draw.random() < 0.5 else 0
            self._ids.add(jobs.create(self._code, delay=timedelta(seconds=delay)).job_id)
            next_at += draw.expovariate(1) * self._pause
            time.sleep(max(0.0, next_at - time.monotonic()))
        connection.close()
