"""LostLeases: makes rows pending again whose workers were lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from delayhub.clock import Clock, now_by
from tasksapp.conf import options
from tasksapp.jobs import job_log
from tasksapp.jobs.flow_order import is_in_order, wake_keys
from tasksapp.jobs.follow_ups import EndedJob, has_receivers, make_follow_ups, send_signals
from tasksapp.maintenance.database_uptime import DatabaseUptime
from tasksapp.models import Job, Status
from tasksapp.sql.leases import return_lost_leases
from tasksapp.sql.ordered_keys import keys_in_order
from tasksapp.sql.pulses import add_pulses
from tasksapp.stats.pulse_recorder import PulseCounts
from tasksapp.timers.arming import ensure_timers
from tasksapp.timers.slots import settle
from tasksapp.timers.timer import Timer

#: Rows that one turn returns, and those of one statement.
TURN_ROWS, PAGE_ROWS = 5_000, 500


class LostLeases:
    """Returns running rows whose leases have expired, but not soon after the database was away.

    Args:
        using: the database.
        clock: Redis' time, by which leases are judged.
        uptime: how long the database has answered.
        ensure: sets timers; where Redis is away, one that does nothing.
    """

    def __init__(
        self,
        *,
        using: str,
        clock: Clock,
        uptime: DatabaseUptime,
        ensure: Callable[[Iterable[Timer]], object] = ensure_timers,
    ) -> None:
        self._ensure = ensure
        self._using = using
        self._clock = clock
        self._uptime = uptime

    def run_once(self) -> int:
        """How many rows were returned in this turn. Raises what the database or Redis raise."""
        self._uptime.note_answer()
        if not self._uptime.covers_a_lease():
            return 0
        now, returned = now_by(self._clock), 0
        while returned < TURN_ROWS:
            lost = return_lost_leases(
                now=now, limit=PAGE_ROWS, max_system_errors=options().max_system_errors, using=self._using,
                on_end=self._follow,
            )  # fmt: skip
            for job in lost:
                self._release(job, now_ms=self._clock.now_ms())
            self._count_dead(lost, now_ms=self._clock.now_ms())
            dead = [job for job in lost if job.status == Status.DEAD]
            if ordered := keys_in_order(job for job in lost if job.status != Status.PENDING and is_in_order(job)):
                wake_keys(ordered, using=self._using)
            if dead and has_receivers(Status.DEAD):
                send_signals([EndedJob.of(job) for job in dead], using=self._using)
            returned += len(lost)
            if len(lost) < PAGE_ROWS:
                break
        return returned

    def _follow(self, ended: Sequence[Job]) -> None:
        make_follow_ups([EndedJob.of(job) for job in ended], using=self._using)

    def _count_dead(self, lost: Sequence[Job], *, now_ms: int) -> None:
        """Adds those that are dead to the numbers, at once: the loader may be in a process that runs no jobs."""
        counts = PulseCounts()
        dead = [job for job in lost if job.status == Status.DEAD]
        counts.add_deaths(((job.biz_type_id, job.error_class) for job in dead), now_ms=now_ms)
        add_pulses(counts.take(), using=self._using)

    def _release(self, job: Job, *, now_ms: int) -> None:
        """Frees the job's slot, and sets its timer if it is pending again."""
        timer = Timer.of(job, job.biz_type)
        if job.biz_type.has_slots:
            settle(timer.lane, timer.queue, [job.id], ended_ms=now_ms)
        if job.status == Status.PENDING:
            self._ensure([timer])
        if job.status == Status.DEAD:
            job_log.note_death(job, job.biz_type, job.last_error, attempt=0, kind=job.error_class)
            return
        said = f"lost its worker {job.worker} and is {job.status}"
        job_log.note(
            job_log.Event.LOST, job, job.biz_type, said, level=logging.WARNING, kind=job.error_class, worker=job.worker
        )
