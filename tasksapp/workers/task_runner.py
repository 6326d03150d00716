"""Running a job whose target is a Celery task, in the worker that got its message."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from celery.exceptions import Ignore, Reject, Retry
from django.db import InterfaceError, OperationalError, connections

from delayhub.celery_support.job_store import Again, Done, Failed, NotRun, TaskOutcome
from tasksapp.biz_types.cache import catalogue
from tasksapp.conf import options
from tasksapp.jobs import completion as verdicts
from tasksapp.models import BizType, Job, Status
from tasksapp.sql.claim_jobs import ClaimAnswer, ClaimedJob, claim_jobs
from tasksapp.sql.write_outcomes import Finished, Tried, write_outcomes
from tasksapp.timers.arming import move, settle
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.timers.timer import Timer
from tasksapp.workers.lease_keeper import Held, LeaseKeeper

logger = logging.getLogger(__name__)

Call = Callable[[Sequence[Any], Mapping[str, Any]], Any]

#: Redis' time: the one that leases and due times are judged by.
clock = RedisClock(client)
lease_keeper = LeaseKeeper(clock)
os.register_at_fork(after_in_child=lease_keeper.forget)

#: When to look again at a row that somebody else has locked at this moment.
LOCKED_WAIT = timedelta(milliseconds=200)


def run_task(job_id: UUID, call: Call, *, worker: str, now_ms: int, using: str) -> TaskOutcome:
    """Claims the row, calls the function with the row's arguments, and writes how it went."""
    clock.sync()
    now = max(_now(), datetime.fromtimestamp(now_ms / 1000, UTC))
    answer = claim_jobs([job_id], now=now, lease_seconds=options().lease_seconds, worker=worker, using=using)
    if not answer.claimed:
        return _not_run(answer, job_id, now=now, using=using)
    (job,) = answer.claimed
    biz_type = catalogue.exact(job.biz_type_id, job.biz_type_updated_at, using=using)
    lease = timedelta(seconds=options().lease_seconds + biz_type.timeout_seconds)
    with lease_keeper.hold(Held(job_id=job_id, token=answer.token, lease=lease, using=using)):
        return _run(job, biz_type, call, token=answer.token, worker=worker, using=using)


def arguments_of(body: str) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """A job's body as the arguments of its task.

    ``{"args": […], "kwargs": {…}}`` (or one of them) is what it says; any other object holds keyword arguments, a list
    positional ones; null is none, and any other value is the only one.
    """
    match json.loads(body):
        case dict() as value:
            args, kwargs = value.get("args", []), value.get("kwargs", {})
            if value and value.keys() <= {"args", "kwargs"} and isinstance(args, list) and isinstance(kwargs, dict):
                return args, kwargs
            return (), value
        case list() as value:
            return value, {}
        case value:
            return () if value is None else (value,), {}


def _not_run(answer: ClaimAnswer, job_id: UUID, *, now: datetime, using: str) -> NotRun:
    """Its timer was spent on the message, so one that is to run later needs another."""
    if answer.not_due:
        _arm_again(job_id, answer.not_due[0][1], using=using)
        return NotRun("it is not due")
    if answer.locked:
        _arm_again(job_id, now + LOCKED_WAIT, using=using)
        return NotRun("its row is locked at this moment")
    if answer.shut:
        # Its message is not under way any more; the loader arms the row when the biz type goes on.
        Job.objects.using(using).filter(id=job_id, status=Status.PENDING).update(lease_until=None)
        return NotRun("its biz type is paused")
    return NotRun("it has ended, or another worker has it")


def _arm_again(job_id: UUID, moment: datetime, *, using: str) -> None:
    job = Job.objects.using(using).select_related("biz_type").defer("body").get(id=job_id)
    move([Timer.of(job, job.biz_type, at=moment)])


def _run(job: ClaimedJob, biz_type: BizType, call: Call, *, token: int, worker: str, using: str) -> TaskOutcome:
    started_at, started = _now(), clock.monotonic()
    error: Exception | None = None
    result: Any = None
    try:
        result = call(*arguments_of(job.body))
    except Ignore:
        pass  # the task says that there is nothing to tell of it
    except Exception as raised:  # whatever the task raises is its attempt's outcome
        error = raised
    tried = Tried(
        number=verdicts.attempt_number(job, biz_type),
        started_at=started_at,
        duration_ms=round((clock.monotonic() - started) * 1000),
        lateness_ms=max(0, round((started_at - job.next_run_at).total_seconds() * 1000)),
        status_code=None,
        response_headers={},
        response_body="",
        error=_reason(error),
    )
    finished = _verdict(job, biz_type, token=token, tried=tried, error=error)
    written = _write(finished, worker=worker, using=using)
    if biz_type.max_in_flight is not None:
        settle(biz_type.lane, biz_type.code, [job.id])
    if not written:
        return NotRun("its lease was lost while it ran: what became of it does not count")
    if finished.status == Status.PENDING and finished.next_run_at is not None:
        # Exact: the timer of this attempt may still be leased, and an acknowledgement to come must not end this one.
        move([Timer.of(job, biz_type, at=finished.next_run_at)])
        return Again(finished.next_run_at, _cause(error))
    return Done(result) if error is None else Failed(_cause(error) or error)


def _verdict(job: ClaimedJob, biz_type: BizType, *, token: int, tried: Tried, error: Exception | None) -> Finished:
    match error:
        case None:
            return verdicts.succeeded(job, biz_type, token=token, tried=tried)
        case Reject():
            return verdicts.gave_up(job, biz_type, token=token, tried=tried, reason=tried.error)
    now = _now()
    return verdicts.failed(
        job, biz_type, token=token, tried=tried, now=now, task_wait_seconds=_own_wait_seconds(error, now=now)
    )


def _own_wait_seconds(error: Exception, *, now: datetime) -> float | None:
    """What ``self.retry`` asked for; None where it left that to the biz type."""
    when: Any = error.when if isinstance(error, Retry) else None
    match when:
        case datetime():
            moment = when if when.tzinfo else when.replace(tzinfo=UTC)
            return (moment - now).total_seconds()
        case int() | float():
            return float(when)
    return None


def _now() -> datetime:
    return datetime.fromtimestamp(clock.now_ms() / 1000, UTC)


def _cause(error: Exception | None) -> Exception | None:
    """The error behind a retry, or the error itself."""
    return error.exc if isinstance(error, Retry) else error


def _reason(error: Exception | None) -> str:
    if error is None:
        return ""
    cause = _cause(error)
    text = "the task asked for a retry" if cause is None else f"{type(cause).__name__}: {cause}"
    return text.replace("\x00", "")[: verdicts.REASON_LENGTH]


def _write(finished: Finished, *, worker: str, using: str) -> bool:
    """Whether the lease still held. A connection that broke while the task ran is replaced once."""
    connection = connections[using]
    try:
        return bool(write_outcomes([finished], now=_now(), worker=worker, using=using))
    except (OperationalError, InterfaceError):
        if connection.in_atomic_block:
            raise
        logger.warning("writing the outcome of job %s again on a new connection", finished.job_id)
        connection.close()
        return bool(write_outcomes([finished], now=_now(), worker=worker, using=using))
