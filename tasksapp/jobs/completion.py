"""What a running job becomes once its attempt is over: one function for each way it can end."""

from __future__ import annotations

import random
from datetime import datetime

from tasksapp.biz_types.unreadable import HOLD
from tasksapp.conf import options
from tasksapp.delivery.outcomes import Failure
from tasksapp.jobs.retry_policy import Exhausted, RetryPolicy, TryAgain
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import Transition
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.error_class import PULLER, TASK
from tasksapp.models.job import age_begins
from tasksapp.models.sealable import UNREADABLE
from tasksapp.models.sealed_value import Tampered
from tasksapp.sql.finished import Finished, Tried

#: A row keeps so many characters of a reason.
REASON_LENGTH = 500

_jitter = random.Random()  # noqa: S311  # spreads retries, guards nothing


def succeeded(job: RunningJob, *, tried: Tried) -> Finished:
    """The attempt succeeded, and so did the job."""
    return Finished(job.id, job.token, Transition.SUCCEED, None, _counted(job), 0, "", "", tried)


def without_exchange(tried: Tried) -> Tried:
    """The same attempt without what was sent and answered; when it was, how it went and how long it took are left."""
    number, started_at, duration_ms, lateness_ms, status_code, *_ = tried  # _replace would take Python 1 µs
    return Tried(number, started_at, duration_ms, lateness_ms, status_code, {}, "", tried.error, "", {})


def failed(
    job: RunningJob,
    *,
    tried: Tried,
    error_class: str,
    now: datetime,
    retry_after_seconds: float | None = None,
    task_wait_seconds: float | None = None,
    unsent: bool = False,
) -> Finished:
    """The attempt failed: the job is pending again if its policy allows another attempt, else dead.

    Args:
        job: the job.
        tried: the attempt.
        error_class: the kind of its failure.
        now: when the failure was known.
        retry_after_seconds: what the receiver asked for.
        task_wait_seconds: what the job's own task, or its puller, chose in place of the backoff.
        unsent: whether it certainly failed before the first byte of the request was sent. Only then is a job that may
            be sent at most once tried again.
    """
    if job.counted_at_claim and not unsent:
        reason = f"{tried.error}; not tried again, since it may happen at most once"
        # An answer says how it went; without one it may have happened.
        known = tried.status_code is not None or error_class == PULLER or error_class.startswith(TASK)
        return gave_up(job, tried=tried, reason=reason, error_class=error_class if known else Failure.OUTCOME_UNKNOWN)
    step = _policy(job).next_attempt(
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
            return Finished(job.id, job.token, Transition.RETRY, at, _counted(job), 0, error, error_class, tried)
        case Exhausted(why):
            return gave_up(job, tried=tried, reason=f"{why}; the last: {tried.error}", error_class=error_class)


def snoozed(job: RunningJob, *, tried: Tried, now: datetime, after_seconds: float | None) -> Finished:
    """The receiver or the task said that it is too early: the job is pending, and no attempt is used; dead at its end.

    Args:
        job: the job.
        tried: what was tried; it is logged only if the job is dead.
        now: when the answer came.
        after_seconds: the wait that was asked for; None for the first one of the backoff.
    """
    step = _policy(job).snoozed(now=now, counted_from=age_begins(job.row), after_seconds=after_seconds)
    match step:
        case TryAgain(at):
            return given_back(job, reason=tried.error, at=at)._replace(error_class=Failure.ASKED)
        case Exhausted(why):
            return gave_up(job, tried=tried, reason=f"{why}; the last: {tried.error}", error_class=Failure.ASKED)


def gave_up(job: RunningJob, *, tried: Tried, reason: str, error_class: str) -> Finished:
    """The attempt failed, and no other could succeed: the job is dead."""
    error = reason[:REASON_LENGTH]
    return Finished(job.id, job.token, Transition.GIVE_UP, None, _counted(job), 0, error, error_class, tried)


def given_back(job: RunningJob, *, reason: str, at: datetime | None = None, system_error: bool = False) -> Finished:
    """There was no attempt: the job is pending as before, or at another time; dead after too many faults on our side.

    Args:
        job: the job.
        reason: why it was not tried.
        at: when it runs again; None for the time that it had.
        system_error: whether this was a fault on our side, to be counted as one.
    """
    uncounted = -1 if job.counted_at_claim else 0
    error_class = Failure.SYSTEM if system_error else Failure.RETURNED
    if system_error and job.row.system_errors + 1 >= options().max_system_errors:
        why = f"too many faults on our side; the last: {reason}"[:REASON_LENGTH]
        return Finished(job.id, job.token, Transition.GIVE_UP, None, uncounted, 1, why, error_class, None)
    why, faults = reason[:REASON_LENGTH], int(system_error)
    return Finished(job.id, job.token, Transition.GIVE_BACK, at, uncounted, faults, why, error_class, None)


def undeliverable(job: RunningJob, error: SecretUnreadable, *, now: datetime) -> Finished:
    """What it carries, or what it needs, cannot be decrypted: it waits for the key, and that is no fault of its own.

    Where the stored value itself was changed no key would help: that is counted as a fault.
    """
    is_changed = isinstance(error, Tampered)
    reason = f"system: {error}" if is_changed else f"not sent: {UNREADABLE}"
    return given_back(job, reason=reason, at=now + HOLD, system_error=is_changed)


def _policy(job: RunningJob) -> RetryPolicy:
    ends = job.row.expires_at if job.row.redriven_at is None else None
    return RetryPolicy(biz_type=job.biz_type, own_attempts=job.row.max_attempts, expires_at=ends)


def _counted(job: RunningJob) -> int:
    """How many attempts to add to the row's."""
    return 0 if job.counted_at_claim else 1
