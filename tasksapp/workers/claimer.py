"""Between the rows and the dispatcher: claims due jobs for it, and writes down what became of their callbacks."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connections

from delayhub.clock import due_ms, moment
from tasksapp.biz_types.breaker import Failures
from tasksapp.biz_types.cache import catalogue
from tasksapp.biz_types.gate import gate_of
from tasksapp.biz_types.target import target_of
from tasksapp.conf import options
from tasksapp.delivery.callback import Callback, Target
from tasksapp.delivery.dispatcher import Dispatcher
from tasksapp.delivery.outcomes import CallbackResult, Delivered, GiveUp, Retry, Returned
from tasksapp.jobs import completion as verdicts
from tasksapp.jobs.bulk import BATCH_ROWS, apply_many
from tasksapp.jobs.verbs import Verb
from tasksapp.models import LIVE, BizType, Job, Status
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.sql.claim_jobs import ClaimAnswer, ClaimedJob, claim_jobs
from tasksapp.sql.renew_leases import renew_leases
from tasksapp.sql.write_outcomes import Finished, Tried, write_outcomes
from tasksapp.timers.arming import move, settle
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.timers.timer import Timer

logger = logging.getLogger(__name__)

#: How long the message of a Celery task may be under way before the loader makes another.
FORWARD_SECONDS = 300.0
#: When to ask again for rows that somebody has locked, or whose biz type does not let them go.
LOCKED_WAIT, SHUT_WAIT = timedelta(milliseconds=200), timedelta(seconds=2)
#: How long a job waits whose secrets cannot be opened.
UNREADABLE_WAIT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a callback's outcome needs to be written."""

    job: ClaimedJob
    biz_type: BizType


class Courier:
    """Works for one process and one database.

    Args:
        clock: Redis' time.
        worker: the name that rows get as their worker.
        using: the database.
    """

    def __init__(self, *, clock: RedisClock, worker: str, using: str) -> None:
        self.clock = clock
        self.worker = worker
        self.using = using
        #: Told the code of a biz type whose breaker is open: what waits in this process is better given back.
        self.on_broken: Callable[[str], None] = lambda code: None
        self._failures = Failures()

    def claim(self, ids: Sequence[UUID], *, now_ms: int) -> ClaimAnswer:
        """Claims the jobs; those that are not to go now get a timer for later."""
        self.clock.sync()
        now = moment(max(now_ms, self.clock.now_ms()))
        answer = claim_jobs(
            ids,
            now=now,
            lease_seconds=options().lease_seconds,
            worker=self.worker,
            using=self.using,
            forward_seconds=FORWARD_SECONDS,
        )
        later = dict(answer.not_due)
        later |= dict.fromkeys(answer.locked, now + LOCKED_WAIT)
        later |= dict.fromkeys(answer.shut, now + SHUT_WAIT)
        if later:
            jobs = Job.objects.using(self.using).select_related("biz_type").defer("body").filter(id__in=later)
            move([Timer.of(job, job.biz_type, at=later[job.id]) for job in jobs])
        self._settle_unsent([*later, *answer.ended, *answer.gone])
        return answer

    def hand_over(self, answer: ClaimAnswer, dispatcher: Dispatcher, *, claimed_at: float) -> None:
        """Gives the claimed jobs to the dispatcher. ``claimed_at``: monotonic seconds from before the claim."""
        callbacks: list[Callback] = []
        unsent: list[Finished] = []
        now = moment(self.clock.now_ms())
        # Most jobs of a batch are of one biz type.
        groups: dict[tuple[int, datetime], list[ClaimedJob]] = defaultdict(list)
        for job in answer.claimed:
            groups[job.biz_type_id, job.biz_type_updated_at].append(job)
        for (biz_type_id, updated_at), jobs in groups.items():
            biz_type = catalogue.exact(biz_type_id, updated_at, using=self.using)
            try:
                target = target_of(biz_type, now=now)
            except SecretUnreadable:
                logger.exception(
                    "%d jobs wait for the secret of %s", len(jobs), biz_type.code, extra={"action": "claim"}
                )
                reason, at = "system: secrets unreadable", now + UNREADABLE_WAIT
                unsent += [verdicts.given_back(job, biz_type, token=answer.token, reason=reason, at=at) for job in jobs]
                continue
            lease_ends = claimed_at + options().lease_seconds + target.timeout_seconds
            callbacks += [_callback(job, biz_type, target, token=answer.token, lease_ends=lease_ends) for job in jobs]
        if unsent:
            write_outcomes(unsent, now=now, worker=self.worker, using=self.using)
        dispatcher.hand_over(callbacks)

    def write(self, results: Sequence[CallbackResult]) -> None:
        """Writes outcomes, and sets the timers of those that run again."""
        now = moment(self.clock.now_ms())
        finished = {result.callback.job_id: self._finished(result, now=now) for result in results}
        written = write_outcomes(list(finished.values()), now=now, worker=self.worker, using=self.using)
        again: list[Timer] = []
        slots: dict[tuple[str, str], list[UUID]] = defaultdict(list)
        for result in results:
            claimed = _claimed(result)
            outcome = finished[result.callback.job_id]
            # Not only where the row says so: an open breaker lets one job through at a time.
            if claimed.biz_type.max_in_flight is not None or not isinstance(result.outcome, Delivered):
                slots[claimed.biz_type.lane, claimed.biz_type.code].append(claimed.job.id)
            if claimed.job.id not in written:
                logger.warning(
                    "the lease of job %s was lost; its outcome does not count",
                    claimed.job.id,
                    extra={"action": "write", "job_id": str(claimed.job.id)},
                )
            elif outcome.status == Status.PENDING:
                again.append(Timer.of(claimed.job, claimed.biz_type, at=outcome.next_run_at))
        self._note_failures(results, now=now)
        for (lane, code), ids in slots.items():
            settle(lane, code, ids)
        if again:
            # Exact, since the timers of this attempt may still be leased: an ack that comes later must not end these.
            move(again)
        for result in results:
            if isinstance(result.outcome, Delivered) and result.outcome.cancel_others:
                self._cancel_others(_claimed(result))

    def renew(self, callbacks: Sequence[Callback]) -> None:
        """Renews the leases of callbacks; those that are lost end at once, so that they are not begun."""
        began, now = self.clock.monotonic(), moment(self.clock.now_ms())
        held = {}
        for callback in callbacks:
            seconds = options().lease_seconds + callback.target.timeout_seconds
            held[UUID(callback.job_id)] = (callback, seconds)
        renewed = renew_leases(
            [
                (job_id, callback.token, now + timedelta(seconds=seconds))
                for job_id, (callback, seconds) in held.items()
            ],
            using=self.using,
        )
        for job_id, (callback, seconds) in held.items():
            callback.lease_ends = began + seconds if job_id in renewed else began

    def close(self) -> None:
        """Closes this thread's connection."""
        connections[self.using].close()

    def _finished(self, result: CallbackResult, *, now: datetime) -> Finished:
        job, biz_type, token = _claimed(result).job, _claimed(result).biz_type, result.callback.token
        match result.outcome:
            case Delivered():
                return verdicts.succeeded(job, biz_type, token=token, tried=_tried(result, ""))
            case Retry(reason, after_seconds, unsent):
                return verdicts.failed(
                    job,
                    biz_type,
                    token=token,
                    tried=_tried(result, reason),
                    now=now,
                    retry_after_seconds=after_seconds,
                    unsent=unsent,
                )
            case GiveUp(reason):
                return verdicts.gave_up(job, biz_type, token=token, tried=_tried(result, reason), reason=reason)
            case Returned(reason, after_seconds):
                at = now + timedelta(seconds=after_seconds) if after_seconds else None
                return verdicts.given_back(job, biz_type, token=token, reason=reason, at=at)

    def _note_failures(self, results: Sequence[CallbackResult], *, now: datetime) -> None:
        """Opens the breakers of biz types whose receivers are down, and heals those whose are up again."""
        by_biz_type: dict[int, list[CallbackResult]] = defaultdict(list)
        for result in results:
            if not isinstance(result.outcome, Returned):
                by_biz_type[_claimed(result).biz_type.id].append(result)
        for group in by_biz_type.values():
            biz_type = _claimed(group[0]).biz_type
            failed = sum(result.receiver_is_down for result in group)
            gate, now_ms = gate_of(biz_type, now=now), self.clock.now_ms()
            if self._failures.note(biz_type, gate, failed=failed, succeeded=failed < len(group), now_ms=now_ms):
                self.on_broken(biz_type.code)

    def _settle_unsent(self, ids: Sequence[UUID]) -> None:
        """Frees the slots of timers that let no job go; which queue each came from is not known any more."""
        if not ids:
            return
        for lane, code in _capped(self.using):
            settle(lane, code, ids)

    def _cancel_others(self, claimed: Claimed) -> None:
        if not claimed.job.biz_id:
            return
        others = Job.objects.using(self.using).filter(
            biz_type_id=claimed.job.biz_type_id, biz_id=claimed.job.biz_id, status__in=LIVE
        )
        ids = list(others.exclude(id=claimed.job.id).values_list("id", flat=True)[:BATCH_ROWS])
        apply_many(Verb.CANCEL, ids, using=self.using)


def _callback(job: ClaimedJob, biz_type: BizType, target: Target, *, token: int, lease_ends: float) -> Callback:
    return Callback(
        job_id=str(job.id),
        token=token,
        target=target,
        body=job.body.encode(),
        due_ms=due_ms(job.due_at),
        run_at_ms=due_ms(job.next_run_at),
        attempt=verdicts.attempt_number(job, biz_type) - job.attempt_base,
        max_attempts=job.max_attempts,
        traceparent=job.traceparent,
        lease_ends=lease_ends,
        context=Claimed(job, biz_type),
    )


def _capped(using: str) -> Iterable[tuple[str, str]]:
    return BizType.objects.using(using).filter(max_in_flight__isnull=False).values_list("lane", "code")


def _claimed(result: CallbackResult) -> Claimed:
    context = result.callback.context
    assert isinstance(context, Claimed)
    return context


def _tried(result: CallbackResult, error: str) -> Tried:
    claimed, response = _claimed(result), result.response
    return Tried(
        number=verdicts.attempt_number(claimed.job, claimed.biz_type),
        started_at=moment(result.started_ms),
        duration_ms=result.duration_ms,
        lateness_ms=result.lateness_ms,
        status_code=response.status_code if response else None,
        response_headers=response.headers if response else {},
        response_body=response.body if response else "",
        error=error,
    )
