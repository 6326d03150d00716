"""What replays of both models of jobs share: workers that claim rows and write outcomes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast
from uuid import UUID

import redis

from delayhub.clock import SystemClock, moment
from proof.row_clock import RowClock
from proof.virtual_time import VirtualTime
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import Job, Transition
from tasksapp.sql.finished import Finished
from tasksapp.timers.lanes import without_redis

CODE, USING = "order.close", "default"
#: How much time each event takes: some, so that what is due now is due for the next.
EVENT_MS = 10


class Rows:
    """The workers' parts, and the time of a replay. Jobs of earlier ones are removed.

    Args:
        client: of an empty server.
    """

    def __init__(self, client: redis.Redis) -> None:
        client.flushall()
        # The loader would set timers for what an earlier trace has left behind.
        Job.objects.using(USING).filter(biz_type__code=CODE).delete()
        self.client = client
        self.time = VirtualTime(client)
        self.begin()
        self.clock: Any = RowClock(self.time)
        self._claimer = Claimer(clock=self.clock, worker="w", using=USING)
        self._completer = Completer(clock=self.clock, worker="w", using=USING)

    @property
    def now(self) -> datetime:
        """The time of the replay."""
        return moment(self.time.now_ms)

    def begin(self) -> None:
        """Goes to the machine's time, which creates ask: what was created is due now, however long that took."""
        self.time.move(SystemClock().now_ms() - self.time.now_ms + EVENT_MS)

    def go_on(self) -> None:
        """Lets an event take its time."""
        self.time.move(EVENT_MS)

    def claim(self, job_id: UUID) -> RunningJob | None:
        """The job, if a worker may run it now."""
        answer = self._claimer.claim_due([job_id], now_ms=self.time.now_ms)
        return next(iter(self._claimer.running_jobs(answer)), None)

    def finish(self, job: RunningJob, transition: Transition) -> int:
        """Writes what the job becomes, and sets no timer; 1 where it counts."""
        finished = Finished(
            job.id, job.token, transition, next_run_at=self.now if transition is Transition.RETRY else None,
            counted=1, system_errors=0, last_error="", error_class="", tried=None,
        )  # fmt: skip
        with without_redis():
            return len(self._completer.complete([Completion(job, finished)]))


def status_of(job_id: UUID) -> str:
    """The status of its row, as models name it."""
    return cast("str", Job.objects.using(USING).values_list("status", flat=True).get(id=job_id))
