"""JobCallbacks: between running jobs and the dispatcher, which knows callbacks and no rows."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from delayhub.clock import Clock, due_ms, moment, now_by
from tasksapp.biz_types.target import NotAsItStands, own_target, target_of
from tasksapp.biz_types.unreadable import HOLD
from tasksapp.conf import options
from tasksapp.delivery.callback import Callback, Target
from tasksapp.delivery.outcomes import REMARK, CallbackResult, Delivered, GiveUp, Retry, Returned, Snooze
from tasksapp.jobs import completion
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import BizType
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.sql.finished import Finished, Tried

logger = logging.getLogger(__name__)


class JobCallbacks:
    """Makes callbacks of running jobs, and completes the jobs when their callbacks have ended.

    Args:
        clock: Redis' time.
        completer: completes the jobs and renews their leases.
    """

    def __init__(self, *, clock: Clock, completer: Completer) -> None:
        self._clock = clock
        self._completer = completer

    def make(self, jobs: Sequence[RunningJob], *, claimed_at: float) -> list[Callback]:
        """The callbacks of the jobs; jobs whose secrets cannot be decrypted are given back and have none.

        Args:
            jobs: jobs of one claim.
            claimed_at: monotonic seconds from before the claim.
        """
        callbacks: list[Callback] = []
        now = now_by(self._clock)
        by_biz_type: dict[int, list[RunningJob]] = defaultdict(list)
        for job in jobs:
            by_biz_type[job.row.biz_type_id].append(job)
        for group in by_biz_type.values():
            biz_type = group[0].biz_type
            if biz_type.auth not in BizType.Auth.values:
                # Not sent without what it should carry. A worker of that release may be there to send it.
                self._give_back(group, f"its auth {biz_type.auth!r} is of a later release", now=now)
                continue
            try:
                target = target_of(biz_type, now=now)
            except SecretUnreadable as error:
                self._completer.put_off([(job, error) for job in group])
                continue
            lease_ends = claimed_at + group[0].lease_seconds
            callbacks += [_callback(job, target, lease_ends=lease_ends) for job in group if not job.row.request]
            callbacks += self._own(group, target, lease_ends=lease_ends, now=now)
        return callbacks

    def _own(
        self, jobs: Sequence[RunningJob], target: Target, *, lease_ends: float, now: datetime
    ) -> Iterator[Callback]:
        """The callbacks of jobs that have a timeout, headers or a URL of their own."""
        for job in jobs:
            if not (request := job.row.request):
                continue
            try:
                own = own_target(target, request, hosts=job.biz_type.url_hosts, is_sealed=job.is_sealed)
            except SecretUnreadable as error:
                self._completer.put_off([(job, error)])
                continue
            except NotAsItStands as error:
                self._give_back([job], str(error), now=now)
                continue
            yield _callback(job, own, lease_ends=lease_ends)

    def _give_back(self, jobs: Sequence[RunningJob], why: str, *, now: datetime) -> None:
        """Lets jobs wait a while. None has used an attempt, and none dies of it: a person or a release mends it."""
        for job in jobs:
            said = "why is encrypted" if job.is_sealed else why
            logger.warning("a job waits as it stands: %s", said, extra={"action": "claim", "job_id": job.id})
        finished = [completion.given_back(job, reason=f"not sent: {why}", at=now + HOLD) for job in jobs]
        self._completer.complete([Completion(job, one) for job, one in zip(jobs, finished, strict=True)])

    def write(self, results: Sequence[CallbackResult]) -> None:
        """Completes the jobs of callbacks that have ended."""
        now = now_by(self._clock)
        self._completer.complete([_completion(result, now=now) for result in results])

    def renew(self, callbacks: Sequence[Callback]) -> None:
        """Renews the leases of callbacks. A lost lease ends now, so that its callback does not begin any more."""
        began = self._clock.monotonic()
        held: dict[UUID, Callback] = {_job(callback).id: callback for callback in callbacks}
        renewed = self._completer.renew([_job(callback) for callback in held.values()])
        for job_id, callback in held.items():
            callback.lease_ends = began + _job(callback).lease_seconds if job_id in renewed else began


def _callback(job: RunningJob, target: Target, *, lease_ends: float) -> Callback:
    row = job.row
    return Callback(
        job_id=str(row.id),
        token=job.token,
        target=target,
        body=row.body.encode() if row.raw is None else bytes(row.raw),
        due_ms=due_ms(row.due_at),
        run_at_ms=due_ms(row.next_run_at),
        attempt=job.attempt_of_budget,
        max_attempts=row.max_attempts,
        redrives=row.redrives,
        traceparent=row.traceparent,
        occurrence_ms=0 if row.occurrence_at is None else due_ms(row.occurrence_at),
        turn=row.turn,
        is_out_of_order=job.is_out_of_order,
        flow_key=row.flow_key,
        lease_ends=lease_ends,
        context=job,
    )


def _job(callback: Callback) -> RunningJob:
    assert isinstance(callback.context, RunningJob)
    return callback.context


def _completion(result: CallbackResult, *, now: datetime) -> Completion:
    job, outcome = _job(result.callback), result.outcome
    # A callback that was not sent says nothing about its receiver, and one to another host nothing about this one.
    is_silent = isinstance(outcome, Returned) or result.callback.target.is_elsewhere
    return Completion(
        job,
        _finished(job, result, now=now),
        None if is_silent else not result.receiver_is_down,
        isinstance(outcome, Delivered) and outcome.cancel_others,
        _no_token(result),
    )


def _no_token(result: CallbackResult) -> str | None:
    """Why there is no access token; '' where one was sent, None where that is not known or wanted."""
    if result.callback.target.grant is None:
        return None
    if isinstance(result.outcome, Returned):
        return result.outcome.reason if result.outcome.lacks_token else None
    return ""


def _finished(job: RunningJob, result: CallbackResult, *, now: datetime) -> Finished:
    match result.outcome:
        case Delivered():
            tried = _tried(job, result, "")
            # Of most jobs this is all there ever is, and nobody reads it: it was half of what PostgreSQL keeps of them.
            is_kept = tried.number > 1 or options().kept_exchanges == "all" or REMARK in tried.response_headers
            return completion.succeeded(job, tried=tried if is_kept else completion.without_exchange(tried))
        case Retry(reason, after_seconds, unsent, kind):
            tried = _tried(job, result, reason)
            return completion.failed(
                job, tried=tried, error_class=kind, now=now, retry_after_seconds=after_seconds, unsent=unsent
            )
        case Snooze(reason, after_seconds):
            tried = _tried(job, result, reason)
            return completion.snoozed(job, tried=tried, now=now, after_seconds=after_seconds)
        case GiveUp(reason, kind):
            return completion.gave_up(job, tried=_tried(job, result, reason), reason=reason, error_class=kind)
        case Returned(reason, after_seconds, is_fault):
            at = now + timedelta(seconds=after_seconds) if after_seconds else None
            return completion.given_back(job, reason=reason, at=at, system_error=is_fault)


def _tried(job: RunningJob, result: CallbackResult, error: str) -> Tried:
    # All at once and in their order: by names it would take Python three times as long.
    callback, _, started_ms, duration_ms, response, line, headers = result
    code, response_headers, body = _NO_ANSWER if response is None else response
    late_ms = started_ms - callback.run_at_ms
    return Tried(
        job.attempt_number, moment(started_ms), duration_ms, late_ms, code, response_headers, body, error, line,
        {} if headers is None else headers.kept(),
    )  # fmt: skip


_NO_ANSWER: tuple[None, dict[str, str], str] = (None, {}, "")
