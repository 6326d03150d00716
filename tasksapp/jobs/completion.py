"""What a running job becomes once its attempt is over: one function for each way it can end."""

from __future__ import annotations

import random
from datetime import datetime

from tasksapp.conf import options
from tasksapp.jobs.retry_policy import Exhausted, RetryPolicy, TryAgain
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import Transition
from tasksapp.models.max_age import age_begins
from tasksapp.sql.finished import Finished, Tried

#: A row keeps so many characters of a reason.
REASON_LENGTH = 500

_jitter = random.Random()  # noqa: S311  # spreads retries, guards nothing


def succeeded(job: RunningJob, *, tried: Tried) -> Finished:
    """The attempt succeeded, and so did the job."""
    return Finished(job.id, job.token, Transition.SUCCEED, None, _counted(job), 0, "", tried)


def failed(
    job: RunningJob,
    *,
    tried: Tried,
    now: datetime,
    retry_after_seconds: float | None = None,
    task_wait_seconds: float | None = None,
    unsent: bool = False,
) -> Finished:
    """The attempt failed: the job is pending again if its policy allows another attempt, else dead.

    Args:
        job: the job.
        tried: the attempt.
        now: when the failure was known.
        retry_after_seconds: what the receiver asked for.
        task_wait_seconds: what the job's own task chose, in place of the backoff.
        unsent: whether it certainly failed before the first byte of the request was sent. Only then is a job that may
            be sent at most once tried again.
    """
    if job.counted_at_claim and not unsent:
        return gave_up(job, tried=tried, reason=f"{tried.error}; not tried again, since it may happen at most once")
    step = RetryPolicy.of(job.biz_type, max_attempts=job.row.max_attempts).next_attempt(
        failures=job.attempt_of_budget,
        now=now,
        counted_from=age_begins(job.row),
        retry_after_seconds=retry_after_seconds,
        task_wait_seconds=task_wait_seconds,
        draw=_jitter.random(),
    )
    match step:
        case TryAgain(at):
            error = tried.error[:REASON_LENGTH]
            return Finished(job.id, job.token, Transition.RETRY, at, _counted(job), 0, error, tried)
        case Exhausted(why):
            return gave_up(job, tried=tried, reason=f"{why}; the last: {tried.error}")


def gave_up(job: RunningJob, *, tried: Tried, reason: str) -> Finished:
    """The attempt failed, and no other could succeed: the job is dead."""
    return Finished(job.id, job.token, Transition.GIVE_UP, None, _counted(job), 0, reason[:REASON_LENGTH], tried)


def given_back(job: RunningJob, *, reason: str, at: datetime | None = None, system_error: bool = False) -> Finished:
    """There was no attempt: the job is pending as before, or at another time; dead after too many faults on our side.

    Args:
        job: the job.
        reason: why it was not tried.
        at: when it runs again; None for the time that it had.
        system_error: whether this was a fault on our side, to be counted as one.
    """
    uncounted = -1 if job.counted_at_claim else 0
    if system_error and job.row.system_errors + 1 >= options().max_system_errors:
        why = f"too many faults on our side; the last: {reason}"[:REASON_LENGTH]
        return Finished(job.id, job.token, Transition.GIVE_UP, None, uncounted, 1, why, None)
    return Finished(
        job.id, job.token, Transition.GIVE_BACK, at, uncounted, int(system_error), reason[:REASON_LENGTH], None
    )


def _counted(job: RunningJob) -> int:
    """How many attempts to add to the row's."""
    return 0 if job.counted_at_claim else 1
