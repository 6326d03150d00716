"""What a running job becomes, once its attempt is over: one function for each way it can end."""

from __future__ import annotations

import random
from datetime import datetime

from tasksapp.jobs.retry_policy import Exhausted, RetryPolicy, TryAgain
from tasksapp.models import BizType, Status
from tasksapp.models.max_age import age_begins
from tasksapp.sql.claim_jobs import ClaimedJob
from tasksapp.sql.write_outcomes import Finished, Tried

#: As much of a reason as a row keeps.
REASON_LENGTH = 500

_jitter = random.Random()  # noqa: S311  # spreads retries, guards nothing


def attempt_number(job: ClaimedJob, biz_type: BizType) -> int:
    """The number of the attempt under way; where one is made at most once, the claim has counted it already."""
    return job.attempts + (0 if counted_at_claim(biz_type) else 1)


def counted_at_claim(biz_type: BizType) -> bool:
    """Whether the claim counts the attempt, so that it stays counted whatever becomes of the worker."""
    return biz_type.guarantee == BizType.Guarantee.AT_MOST_ONCE


def succeeded(job: ClaimedJob, biz_type: BizType, *, token: int, tried: Tried) -> Finished:
    """The receiver took it."""
    return Finished(job.id, token, Status.SUCCEEDED, None, _counted(biz_type), 0, "", tried)


def failed(
    job: ClaimedJob,
    biz_type: BizType,
    *,
    token: int,
    tried: Tried,
    now: datetime,
    retry_after_seconds: float | None = None,
    task_wait_seconds: float | None = None,
    unsent: bool = False,
) -> Finished:
    """The attempt failed, and may be repeated: pending again if the policy has another attempt, else dead.

    Args:
        retry_after_seconds: what the receiver asked for.
        task_wait_seconds: what the job's own task chose, in place of the backoff.
        unsent: whether the failure is proved to come before the first byte of the request; only then may a job be
            tried again that is made at most once.
    """
    if counted_at_claim(biz_type) and not unsent:
        reason = f"{tried.error}; not tried again, since it may happen at most once"
        return gave_up(job, biz_type, token=token, tried=tried, reason=reason)
    step = RetryPolicy.of(biz_type, max_attempts=job.max_attempts).next_attempt(
        failures=attempt_number(job, biz_type) - job.attempt_base,
        now=now,
        counted_from=age_begins(job),
        retry_after_seconds=retry_after_seconds,
        task_wait_seconds=task_wait_seconds,
        draw=_jitter.random(),
    )
    match step:
        case TryAgain(at):
            error = tried.error[:REASON_LENGTH]
            return Finished(job.id, token, Status.PENDING, at, _counted(biz_type), 0, error, tried)
        case Exhausted(why):
            return gave_up(job, biz_type, token=token, tried=tried, reason=f"{why}; the last: {tried.error}")


def gave_up(job: ClaimedJob, biz_type: BizType, *, token: int, tried: Tried, reason: str) -> Finished:
    """No further attempt can help: dead."""
    return Finished(job.id, token, Status.DEAD, None, _counted(biz_type), 0, reason[:REASON_LENGTH], tried)


def given_back(
    job: ClaimedJob,
    biz_type: BizType,
    *,
    token: int,
    reason: str,
    at: datetime | None = None,
    system_error: bool = False,
) -> Finished:
    """Not tried after all: pending as before, or at another time; no attempt is used.

    Args:
        system_error: whether this was a fault of ours, to be counted as one.
    """
    uncounted = -1 if counted_at_claim(biz_type) else 0
    return Finished(job.id, token, Status.PENDING, at, uncounted, int(system_error), reason[:REASON_LENGTH], None)


def _counted(biz_type: BizType) -> int:
    return 0 if counted_at_claim(biz_type) else 1
