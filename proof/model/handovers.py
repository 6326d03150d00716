"""Plays traces of ``handover.pml`` on the statements of rows and the scripts of timers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import redis

from delayhub.engine import Lease
from proof.model.rows import CODE, USING, Rows, status_of
from proof.model.traces import Event
from tasksapp import jobs
from tasksapp.errors import WrongState
from tasksapp.jobs.creation import create
from tasksapp.jobs.running_job import RunningJob
from tasksapp.maintenance.loader import Loader
from tasksapp.maintenance.lost_leases import LostLeases
from tasksapp.models import Job, Transition
from tasksapp.timers.arming import follow, move
from tasksapp.timers.lanes import patient_lane, without_redis
from tasksapp.timers.timer import Timer


class HandoverPlayer:
    """One job, two workers, and what goes on beside them. Leases end by what is written into row and timer.

    Args:
        client: of an empty server.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._rows = Rows(client)
        self._id = create(CODE).job_id
        self._rows.begin()
        biz_type = self._job().biz_type
        self._queue, self._lane = biz_type.queue, patient_lane(biz_type.timer_lane)
        self._timers: dict[int, Sequence[Lease]] = {}
        self._running: dict[int, RunningJob] = {}

    def play(self, event: Event) -> tuple[str, ...]:
        """The answer, the status of the row, and where the timer is."""
        answer = int(getattr(self, f"_{event.what}")(event.who))
        self._rows.go_on()
        (at_ms,) = self._lane.look(self._queue, [str(self._id)])
        timer = "no_timer" if at_ms is None else "waits" if at_ms else "leased"
        return str(answer), status_of(self._id), timer

    def _job(self) -> Job:
        return Job.objects.using(USING).select_related("biz_type__tenant").get(id=self._id)

    def _claims_timer(self, who: int) -> bool:
        batches = self._lane.claim(10).batches
        self._timers[who] = [
            Lease(self._lane.name, each.queue, one, each.token) for each in batches for one in each.ids
        ]
        return bool(batches)

    def _claims_row(self, who: int) -> bool:
        self._running.pop(who, None)
        if found := self._rows.claim(self._id):
            self._running[who] = found
        return found is not None

    def _acknowledges(self, who: int) -> int:
        return self._lane.acknowledge(self._timers.pop(who))

    def _checks_lease(self, who: int) -> bool:
        rows = Job.objects.using(USING).filter(id=self._id, lease_token=self._running[who].token)
        return rows.filter(status=Transition.CLAIM.target, lease_until__gt=self._rows.now).exists()

    def _succeeds(self, who: int) -> int:
        return self._rows.finish(self._running[who], Transition.SUCCEED)

    def _retries(self, who: int) -> int:
        return self._rows.finish(self._running[who], Transition.RETRY)

    def _arms(self, who: int) -> bool:
        job = self._running[who]
        return move([Timer.of(job.row, job.biz_type, at=self._rows.now)])

    def _dies(self, who: int) -> int:
        self._timers.pop(who, None)
        self._running.pop(who, None)
        return 1

    def _cancels(self, _: int) -> bool:
        try:
            with without_redis():
                jobs.cancel(self._id)
        except WrongState:
            return False
        return True

    def _forgets_timer(self, _: int) -> int:
        follow([self._job()])
        return 1

    def _row_lease_ends(self, _: int) -> int:
        # The wait after several losses is no part of the model, so each is the first.
        over = self._rows.now - timedelta(seconds=1)
        return Job.objects.using(USING).filter(id=self._id).update(lease_until=over, system_errors=0)

    def _timer_lease_ends(self, _: int) -> int:
        # Claims look at a queue when its time on the agenda has come: that is the end of this lease, too.
        leased, agenda = self._lane.keys.queue(self._queue).leased, self._lane.keys.agenda
        self._lane.client.zadd(leased, {str(self._id): 0}, xx=True)
        self._lane.client.zadd(agenda, {self._queue: 0}, xx=True)
        return 1

    def _returns_lost(self, _: int) -> int:
        uptime: Any = SimpleNamespace(note_answer=lambda: None, covers_a_lease=lambda: True)
        return LostLeases(using=USING, clock=self._rows.clock, uptime=uptime, ensure=lambda timers: None).run_once()

    def _loads(self, _: int) -> int:
        Loader(using=USING, clock=self._rows.clock, holder="loader").reload()
        return 1

    def _loses_all(self, _: int) -> int:
        self._rows.client.flushall()
        self._rows.time.write()
        return 1
