"""Claimer: makes due jobs this process's, and sets timers for those that are not to run now."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from delayhub.clock import moment
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.conf import options
from tasksapp.extending.claim_rules import claim_hooks
from tasksapp.jobs import job_log
from tasksapp.jobs.completer import Completer
from tasksapp.jobs.follow_ups import EndedJob, has_receivers, send_signals
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import BizType, Job, Status
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.sql.claim_jobs import Pulling, claim_jobs
from tasksapp.sql.expire_jobs import count_dead
from tasksapp.stats.pulse_recorder import pulse_recorder
from tasksapp.timers.arming import move
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.timers.slots import settle
from tasksapp.timers.timer import Timer

#: How long the message of a Celery task may be under way before the loader makes another.
FORWARD_SECONDS = 300.0
#: When a row is claimed again that another transaction has locked, or whose biz type is paused or disabled.
LOCKED_WAIT, SHUT_WAIT = timedelta(milliseconds=200), timedelta(seconds=2)


class Claimer:
    """Claims jobs for one worker, callbacks and Celery tasks alike.

    Args:
        clock: Redis' time.
        worker: the name that claimed rows get as their worker.
        using: the database.
    """

    def __init__(self, *, clock: RedisClock, worker: str, using: str) -> None:
        self._clock = clock
        self._worker = worker
        self._using = using
        #: Redis' time, Unix ms, when jobs were last claimed or forwarded; 0 for never.
        self.last_claim_ms = 0

    def claim_due(self, ids: Sequence[UUID], *, now_ms: int) -> ClaimAnswer:
        """Claims jobs whose timers were due. Those of Celery tasks are not claimed, but marked as forwarded.

        Args:
            ids: the jobs.
            now_ms: Redis' time when the timers were due, Unix ms.
        """
        answer, spent = self._claim(ids, now_ms=now_ms, forward_seconds=FORWARD_SECONDS)
        if answer.claimed or answer.forwarded:
            self.last_claim_ms = self._clock.now_ms()
        self._free_slots([*spent, *answer.gone], timers_ms=now_ms)
        return answer

    def claim_found(self, ids: Sequence[UUID], *, now_ms: int) -> ClaimAnswer:
        """Claims jobs that are due by their rows, while Redis is away. Asks it nothing; no timer led to these jobs.

        Args:
            ids: the jobs.
            now_ms: the present time, Unix ms.
        """
        answer = self._answer(ids, now=moment(now_ms), forward_seconds=FORWARD_SECONDS)
        if answer.claimed:
            self.last_claim_ms = now_ms
        self._send_signals(answer.ended)
        return answer

    def claim_forwarded(self, job_id: UUID, *, now_ms: int) -> ClaimAnswer:
        """Claims the job of a Celery task, in the worker that got the task's message.

        Args:
            job_id: the job.
            now_ms: Redis' time when its timer was due, Unix ms; 0 if unknown.
        """
        answer, spent = self._claim([job_id], now_ms=now_ms, forward_seconds=0)
        # A job that is gone keeps its slot: the message may have come twice, and another worker runs the job.
        self._free_slots(spent)
        left = [*answer.shut, *answer.blocked, *answer.locked]
        if left:
            # Its row still says that the message is under way; with that neither the loader nor a claim would take it.
            with transaction.atomic(using=self._using):
                pending = Job.objects.using(self._using).filter(id__in=left, status=Status.PENDING)
                free = list(pending.select_for_update(skip_locked=True).values_list("id", flat=True))
                pending.filter(id__in=free).update(lease_until=None)
        return answer

    def claim_pulled(self, ids: Sequence[UUID], *, now_ms: int, pulling: Pulling) -> ClaimAnswer:
        """Claims jobs whose timers were due for a puller, as ``claim_due`` does for a worker.

        Args:
            ids: the jobs.
            now_ms: Redis' time when the timers were due, Unix ms.
            pulling: the token and the lease.
        """
        answer, spent = self._claim(ids, now_ms=now_ms, forward_seconds=0, pulling=pulling)
        self._free_slots([*spent, *answer.gone], timers_ms=now_ms)
        return answer

    def running_jobs(self, answer: ClaimAnswer) -> list[RunningJob]:
        """The jobs of a claim that run in this process now, with their biz types, decrypted where they were encrypted.

        What cannot be decrypted is given back, and is not among them.
        """
        known: dict[int, BizType] = {}
        jobs: list[RunningJob] = []
        unreadable: list[tuple[RunningJob, SecretUnreadable]] = []
        for row in answer.claimed:
            # One statement claimed them all, so rows of one biz type saw the same version of it.
            biz_type = known.get(row.biz_type_id)
            if biz_type is None:
                biz_type = biz_type_cache.as_of(row.biz_type_id, revision=row.biz_type_revision, using=self._using)
                known[row.biz_type_id] = biz_type
            job = RunningJob(row, biz_type, answer.token)
            if job.is_closed:
                job = job._replace(is_sealed=True)
                try:
                    job = job.opened()
                except SecretUnreadable as error:
                    unreadable.append((job, error))
                    continue
            jobs.append(job)
        if unreadable:
            Completer(clock=self._clock, worker=self._worker, using=self._using).put_off(unreadable)
        if job_log.debugs():
            for job in jobs:
                said, attempt = f"is claimed by {self._worker}", job.attempt_number
                job_log.note(job_log.Event.CLAIMED, job.row, job.biz_type, said, attempt=attempt)
        return jobs

    def still_running(self, job_id: UUID) -> RunningJob | None:
        """A job that this worker claimed and has not completed, also by another of its processes; else None."""
        mine = Job.objects.using(self._using).filter(id=job_id, status=Status.RUNNING, worker=self._worker)
        job = mine.select_related("biz_type").defer("body", "raw").first()
        if job is None or job.lease_token is None or job.lease_until is None:
            return None
        return RunningJob.of(job, token=job.lease_token)

    def _claim(
        self, ids: Sequence[UUID], *, now_ms: int, forward_seconds: float, pulling: Pulling | None = None
    ) -> tuple[ClaimAnswer, Sequence[UUID]]:
        """The answer, and the jobs that do not run now although their timers fired."""
        self._clock.sync()
        now = moment(max(now_ms, self._clock.now_ms()))
        answer = self._answer(ids, now=now, forward_seconds=forward_seconds, pulling=pulling)
        later = dict(answer.not_due)
        later |= dict.fromkeys(answer.locked, now + LOCKED_WAIT)
        later |= dict.fromkeys(answer.shut, now + SHUT_WAIT)
        if later:
            self._arm_again(later)
        for hook in claim_hooks.all:
            if hook.after is not None:
                hook.after(answer, self._using)
        self._send_signals(answer.ended)
        return answer, [*later, *answer.ended, *answer.blocked]

    def _answer(
        self, ids: Sequence[UUID], *, now: datetime, forward_seconds: float, pulling: Pulling | None = None
    ) -> ClaimAnswer:
        """What became of the jobs in the database; deaths are counted."""
        answer = claim_jobs(
            ids,
            now=now,
            lease_seconds=options().lease_seconds if pulling is None else 0,
            worker=self._worker,
            using=self._using,
            forward_seconds=forward_seconds,
            pulling=pulling,
        )
        if answer.ended:
            count_dead(answer.ended, using=self._using)
        if answer.died:
            pulse_recorder.counts.add_deaths(answer.died, now_ms=self._clock.now_ms())
        if answer.ended:
            self._log_ended(answer.ended)
        return answer

    def _log_ended(self, ended: Sequence[UUID]) -> None:
        """A line for each that was not delivered after all: dead, skipped, or called off."""
        jobs = Job.objects.using(self._using).select_related("biz_type__tenant").defer("body", "raw")
        for job in jobs.filter(id__in=ended):
            kind, why = job.error_class, job.last_error
            if job.status == Status.DEAD:
                job_log.note_death(job, job.biz_type, why, attempt=0, kind=kind)
            elif job.status in {Status.SKIPPED, Status.CANCELLED}:
                job_log.note(job.status, job, job.biz_type, f"is {job.status}: {why}", level=logging.INFO, kind=kind)

    def _send_signals(self, ended: Sequence[UUID]) -> None:
        """Tells the project's receivers of the dead ones."""
        if ended and has_receivers(Status.DEAD):
            dead = Job.objects.using(self._using).select_related("biz_type").filter(id__in=ended, status=Status.DEAD)
            send_signals([EndedJob.of(job) for job in dead], using=self._using)

    def _arm_again(self, later: Mapping[UUID, datetime]) -> None:
        """Sets new timers; those that led to this claim are used up."""
        jobs = Job.objects.using(self._using).select_related("biz_type").defer("body", "raw").filter(id__in=later)
        move([Timer.of(job, job.biz_type, at=later[job.id]) for job in jobs])

    def _free_slots(self, ids: Sequence[UUID], *, timers_ms: int = 0) -> None:
        """Frees the slots of timers whose jobs do not run now. Their queues are unknown here, so all are asked.

        A job may run elsewhere since, if this process was late: its slot is younger than these timers, and stays.
        """
        if not ids:
            return
        capped = BizType.objects.using(self._using).exclude(max_in_flight=None, key_max_in_flight=None)
        for biz_type in capped.only("lane", "queue_name", "code", "target"):
            settle(
                biz_type.timer_lane, biz_type.queue, ids, ended_ms=timers_ms or self._clock.now_ms(),
                is_late=timers_ms > 0,
            )  # fmt: skip
