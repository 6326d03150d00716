"""HeldClaim: what a puller does with a job that it holds: done, fail, extend, release."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import router

from delayhub.clock import due_ms, now_by
from delayhub.request_ids import current_request_id
from tasksapp.access.actors import Actor
from tasksapp.biz_types.visible import visible_jobs
from tasksapp.conf import options
from tasksapp.errors import ClaimLost, JobNotFound
from tasksapp.jobs import completion
from tasksapp.jobs.attempt_headers import CLAIM, REQUEST_ID
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import Attempt, Job, Status
from tasksapp.models.error_class import PULLER
from tasksapp.pulling.puller import SLOT_MARGIN_SECONDS, ClaimToken, redis_clock
from tasksapp.sql.finished import Finished, Tried
from tasksapp.sql.leases import renew_leases
from tasksapp.stats.pulse_recorder import pulse_recorder
from tasksapp.timers.lanes import brisk_lane, tried

#: Attempts among which an old token is looked for.
LATEST_ATTEMPTS = 20
#: The longest duration that a column takes, in ms.
_LONGEST_MS = 2**31 - 1


class Ended(NamedTuple):
    """What became of a claim, and how its job is now.

    Args:
        outcome: ``done``, ``failed``, ``extended`` or ``released``.
        job: the job, with its biz type.
        repeated: whether an earlier request with the token did it already.
    """

    outcome: str
    job: Job
    repeated: bool = False


class HeldClaim:
    """A claim by its token, of a job that the caller sees.

    Args:
        token: the token as it was sent.
        seen_by: the caller.
        by: who acts, for the record.

    Raises JobNotFound where the token is none, or the caller does not see its job.
    """

    def __init__(self, token: str, *, seen_by: object, by: Actor) -> None:
        found = ClaimToken.parse(token)
        self._using = router.db_for_write(Job)
        self._jobs = visible_jobs(seen_by, using=self._using).defer("body", "raw")
        self._by = by
        self._completer = Completer(clock=redis_clock(), worker=by.name, using=self._using)
        job = None if found is None else self._jobs.filter(id=found.job_id).first()
        if found is None or job is None:
            raise JobNotFound("There is no such claim.")
        self._token, self._job = found, job

    def done(self, *, note: str = "") -> Ended:
        """The job has succeeded. Again with the same token it answers the same. Raises ClaimLost.

        Args:
            note: what the puller wants to have on record about it.
        """
        if not self._is_held:
            return self._repeated("done")
        job = self._running()
        return self._complete("done", completion.succeeded(job, tried=self._tried(job, note=note)), job)

    def fail(self, *, reason: str = "", retry_in: float | None = None, dead: bool = False, note: str = "") -> Ended:
        """The attempt failed: the job is pending again or dead, by its biz type's policy. Raises ClaimLost.

        Args:
            reason: why, for people.
            retry_in: in how many seconds it is tried again, in place of the backoff.
            dead: whether no other attempt could succeed, so that it is dead at once.
            note: what else the puller wants to have on record.
        """
        if not self._is_held:
            return self._repeated("failed")
        job = self._running()
        tried = self._tried(job, error=reason or "the puller gave no reason", note=note)
        if dead:
            finished = completion.gave_up(job, tried=tried, reason=tried.error, error_class=PULLER)
        else:
            finished = completion.failed(
                job, tried=tried, error_class=PULLER, now=now_by(redis_clock()), task_wait_seconds=retry_in
            )
        return self._complete("failed", finished, job)

    def release(self, *, reason: str = "", retry_in: float | None = None) -> Ended:
        """Gives the job back: it is pending again, and no attempt is used. Where it is not held any more, that is so.

        Args:
            reason: why, for people.
            retry_in: in how many seconds it can be claimed again; None for at once.
        """
        if not self._is_held:
            return Ended("released", self._job, repeated=True)
        job = self._running()
        at = None if retry_in is None else now_by(redis_clock()) + timedelta(seconds=retry_in)
        said = f"given back by {self._by.name}" + (f": {reason}" if reason else "")
        try:
            return self._complete("released", completion.given_back(job, reason=said, at=at), job)
        except ClaimLost:
            return Ended("released", self._read(), repeated=True)

    def extend(self, *, lease_seconds: float | None = None) -> Ended:
        """The claim lasts so long from now. Raises ClaimLost.

        Args:
            lease_seconds: how long; None for the biz type's timeout.
        """
        seconds = self._job.biz_type.timeout_seconds if lease_seconds is None else lease_seconds
        redis_clock().sync()
        until = now_by(redis_clock()) + timedelta(seconds=seconds)
        if not self._is_held or not renew_leases([(self._job.id, self._token.lease, until)], using=self._using):
            raise self._lost()
        self._job.lease_until = until
        self._keep_slot(until)
        return Ended("extended", self._job)

    @property
    def _is_held(self) -> bool:
        return self._job.status == Status.RUNNING and self._job.lease_token == self._token.lease

    def _read(self) -> Job:
        job = self._jobs.filter(id=self._job.id).first()
        if job is None:
            raise JobNotFound("There is no such claim.")
        return job

    def _running(self) -> RunningJob:
        # The claim is the last thing that moved updated_at: leases are extended without.
        return RunningJob.of(self._job, token=self._token.lease, pulled_at=self._job.updated_at)

    def _tried(self, job: RunningJob, *, error: str = "", note: str) -> Tried:
        duration_ms = due_ms(now_by(redis_clock())) - due_ms(job.claimed_at)
        return Tried(
            number=job.attempt_number,
            started_at=job.claimed_at,
            duration_ms=max(0, min(duration_ms, _LONGEST_MS)),
            lateness_ms=max(0, due_ms(job.claimed_at) - due_ms(job.row.next_run_at)),
            status_code=None,
            response_headers={REQUEST_ID: current_request_id.get() or ""},
            response_body=_cut(note, most=options().response_bytes),
            error=error[: completion.REASON_LENGTH],
            request_line=f"pulled by {self._by.name}",
            request_headers={CLAIM: self._token.mark},
        )

    def _complete(self, outcome: str, finished: Finished, job: RunningJob) -> Ended:
        if job.id not in self._completer.complete([Completion(job, finished)]):
            self._job = self._read()
            return self._repeated(outcome)
        # At once: a web process has no thread that would write them, and may answer nothing else for hours.
        pulse_recorder.run_once(using=self._using)
        return Ended(outcome, self._read())

    def _repeated(self, outcome: str) -> Ended:
        """The answer where the token's claim has ended that way before. Raises ClaimLost where it has not."""
        attempts = Attempt.objects.using(self._using).filter(job_id=self._job.id).order_by("-number")
        for headers, error in attempts.values_list("request_headers", "error")[:LATEST_ATTEMPTS]:
            if isinstance(headers, dict) and headers.get(CLAIM) == self._token.mark:
                was = "failed" if error else "done"
                if was == outcome:
                    return Ended(outcome, self._job, repeated=True)
                raise ClaimLost(self._job.id, status=self._job.status, ended=was)
        raise self._lost()

    def _lost(self) -> ClaimLost:
        return ClaimLost(self._job.id, status=self._job.status)

    def _keep_slot(self, until: datetime) -> None:
        """Holds the job's slot of ``max_in_flight`` for as long as its lease."""
        biz_type = self._job.biz_type
        if not biz_type.has_slots:
            return
        until_ms = due_ms(until + timedelta(seconds=SLOT_MARGIN_SECONDS))

        def keep() -> bool:
            brisk_lane(biz_type.timer_lane).keep_slots(biz_type.queue, [str(self._job.id)], until_ms=until_ms)
            return True

        tried(keep, action="extend")


def _cut(text: str, *, most: int) -> str:
    """The text in so many bytes at most, without NUL, which no database takes."""
    return text.replace("\x00", "").encode()[:most].decode(errors="ignore")
