"""TaskRunner: runs the jobs of Celery tasks, in the worker that got the task's message."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from celery import current_app
from celery.exceptions import Ignore, Reject, Retry

from delayhub.celery_support.job_arguments import decoded
from delayhub.celery_support.job_store import Again, Done, Failed, JobCall, NotRun, TaskOutcome
from delayhub.clock import now_by
from delayhub.snooze import Snooze
from tasksapp.biz_types.masked_fields import Hide
from tasksapp.errors import TaskRefused
from tasksapp.jobs import completion
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.masking import hidden_by
from tasksapp.jobs.retry_policy import LONGEST_WAIT
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models.error_class import task_error_class
from tasksapp.models.sealable import UNREADABLE
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.sql.finished import Finished, Tried
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.biz_type_report import task_refusal
from tasksapp.workers.kept_text import Kept, after_end, kept_text
from tasksapp.workers.lease_keeper import LeaseKeeper
from tasksapp.workers.traced_attempts import traced_call

Call = Callable[[JobCall], Any]


class MaskedError(Exception):
    """A task's exception for logs, spans and Celery, whose own text has values of masked fields.

    Args:
        text: its class and text, with masks.
        error: itself; None where Celery makes it again of its text, in another process.
    """

    def __init__(self, text: str, error: Exception | None = None) -> None:
        super().__init__(text)
        self._error = error

    def take(self) -> Exception:
        """The exception, which this one then does not know any more: it may go into results and logs."""
        error, self._error, self.__context__ = self._error, None, None
        assert error is not None
        return error


lease_keeper = LeaseKeeper()
os.register_at_fork(after_in_child=lease_keeper.forget)


class TaskRunner:
    """Claims a job, calls the task's function, and completes the job with what came of that.

    Args:
        clock: Redis' time.
        keeper: renews the job's lease while the function runs.
        worker: the name that rows get as their worker.
        using: the database.
    """

    def __init__(self, *, clock: RedisClock, keeper: LeaseKeeper, worker: str, using: str) -> None:
        self._clock = clock
        self._keeper = keeper
        self._using = using
        self._claimer = Claimer(clock=clock, worker=worker, using=using)
        self._completer = Completer(clock=clock, worker=worker, using=using)

    def run(self, job_id: UUID, call: Call, *, now_ms: int, task_name: str | None = None) -> TaskOutcome:
        """Runs the job and gives back how it went. A task that the project does not allow to it is not called.

        Args:
            job_id: the job.
            call: runs the task's function.
            now_ms: Redis' time when the job's timer was due, Unix ms; 0 if unknown.
            task_name: the task, whose name comes from a message; None where the call is no task's.
        """
        answer = self._claimer.claim_forwarded(job_id, now_ms=now_ms)
        if not answer.claimed:
            return NotRun(_why_not_run(answer))
        jobs = self._claimer.running_jobs(answer)
        if not jobs:
            return NotRun(UNREADABLE)
        (job,) = jobs
        with self._keeper.hold(job, completer=self._completer):
            return self._run(job, call if task_name is None else self._allowed(job, call, task_name=task_name))

    def refuse(self, job_id: UUID, refused: TaskRefused, *, now_ms: int) -> TaskOutcome:
        """Ends the attempt of a job whose message may not be sent, with the reason in its row."""

        def call(_job_call: JobCall) -> Any:
            raise refused

        return self.run(job_id, call, now_ms=now_ms)

    def fail_for_time(self, job_id: UUID, *, seconds: float) -> bool:
        """Completes a job that this worker runs with a failed attempt: its hard time limit ended the process.

        False where the worker does not run it: it completed just before. Closes this thread's database connection.

        Args:
            job_id: the job.
            seconds: the time limit.
        """
        try:
            self._clock.sync()
            job = self._claimer.still_running(job_id)
            if job is None:
                return False
            now = now_by(self._clock)
            started_at = now - timedelta(seconds=seconds)
            error = f"TimeLimitExceeded: the task ran for its time limit of {seconds:g} s"
            tried = _tried(job, started_at=started_at, seconds=seconds, error=error)
            error_class = task_error_class("TimeLimitExceeded")
            finished = completion.failed(job, tried=tried, error_class=error_class, now=now)
            return bool(self._completer.complete([Completion(job, finished, receiver_is_up=None)]))
        finally:
            self._completer.close()

    def _allowed(self, job: RunningJob, call: Call, *, task_name: str) -> Call:
        def checked(job_call: JobCall) -> Any:
            if refused := task_refusal(current_app, job.biz_type, task_name):
                raise refused
            return call(job_call)

        return checked

    def _run(self, job: RunningJob, call: Call) -> TaskOutcome:
        started_at, started = now_by(self._clock), self._clock.monotonic()
        error: Exception | None = None
        shown: Exception | None = None
        result: Any = None
        hide = hidden_by(job, using=self._using)
        try:
            result = traced_call(job, lambda: _called(call, job, hide))
        except MaskedError as raised:
            shown, error = raised, raised.take()
        except Exception as raised:  # whatever the task raises is its attempt's outcome
            error = raised
        if job.is_sealed:
            shown = _untold(error)
        seconds = self._clock.monotonic() - started
        tried = _tried(job, started_at=started_at, seconds=seconds, error=_error_text(error, hide))
        tried = tried._replace(response_body=kept_text(result, error))
        # Nothing for the breaker: a task has no host, and its exception may be about the arguments of this one job.
        completed = Completion(
            job, _finished(job, tried=tried, error=error, now=now_by(self._clock)), receiver_is_up=None
        )
        if not self._completer.complete([completed]):
            return NotRun("its lease was lost while it ran: its outcome does not count")
        if completed.runs_again:
            return Again(completed.finished.next_run_at or job.row.next_run_at, shown or _cause(error))
        if (after := after_end(result, error)) is not None:
            after(shown or error)
        return Done(result) if error is None else Failed(shown or _cause(error) or error)


def _called(call: Call, job: RunningJob, hide: Hide | None) -> Any:
    try:
        args, kwargs = arguments_of(job.row.body)
        result = call(JobCall(str(job.id), job.attempt_of_budget, job.row.max_attempts, args, kwargs))
        # What is kept with the attempt Celery logs, too.
        return replace(result, text=hide(result.text)) if hide and isinstance(result, Kept) else result
    except Ignore:
        return None  # the task asks Celery to record nothing; the job has succeeded
    except Exception as error:
        if hide is None:
            raise
        # Beside its text its arguments, which Celery's results keep.
        told = "".join(traceback.format_exception(error)) + repr((error.args, getattr(_cause(error), "args", ())))
        if hide(told) == told:
            raise
        raise MaskedError(_error_text(error, hide), error) from None


@cache
def task_runner(*, worker: str, using: str) -> TaskRunner:
    """This process' runner for a worker's name and a database."""
    return TaskRunner(clock=RedisClock(client), keeper=lease_keeper, worker=worker, using=using)


def arguments_of(body: str) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """A job's body as the arguments of its task.

    ``{"args": […], "kwargs": {…}}`` (or one of them) is taken as such. Any other object holds keyword arguments, a list
    positional ones; null means no arguments, and any other value is the only argument. Values may have Celery's types.
    """
    match decoded(body):
        case dict() as value:
            args, kwargs = value.get("args", []), value.get("kwargs", {})
            if value and value.keys() <= {"args", "kwargs"} and isinstance(args, list) and isinstance(kwargs, dict):
                return args, kwargs
            return (), value
        case list() as value:
            return value, {}
        case value:
            return () if value is None else (value,), {}


def _why_not_run(answer: ClaimAnswer) -> str:
    if answer.not_due:
        return "it is not due"
    if answer.locked:
        return "its row is locked at this moment"
    if answer.shut:
        return "its biz type is paused or disabled"
    if answer.blocked:
        return "another job of its flow key comes first"
    return "it has ended, or another worker has it"


def _tried(job: RunningJob, *, started_at: datetime, seconds: float, error: str) -> Tried:
    return Tried(
        number=job.attempt_number,
        started_at=started_at,
        duration_ms=round(seconds * 1000),
        lateness_ms=max(0, round((started_at - job.row.next_run_at).total_seconds() * 1000)),
        status_code=None,
        response_headers={},
        response_body="",
        error=error,
        request_line="",
        request_headers={},
    )


def _finished(job: RunningJob, *, tried: Tried, error: Exception | None, now: datetime) -> Finished:
    match error:
        case None:
            return completion.succeeded(job, tried=tried)
        case TaskRefused(is_final=True):
            error_class = task_error_class(TaskRefused.__name__)
            return completion.gave_up(job, tried=tried, reason=str(error), error_class=error_class)
        case Reject():
            return completion.gave_up(job, tried=tried, reason=tried.error, error_class=task_error_class("Reject"))
        case Snooze():
            return completion.snoozed(job, tried=tried, now=now, after_seconds=error.seconds)
    cause = _cause(error) or error
    return completion.failed(
        job,
        tried=tried,
        error_class=task_error_class(type(cause).__name__),
        now=now,
        task_wait_seconds=_asked_wait_seconds(error, now=now),
        unsent=isinstance(error, TaskRefused),
    )


def _asked_wait_seconds(error: Exception, *, now: datetime) -> float | None:
    """The wait that ``self.retry`` asked for; None where it left that to the biz type."""
    when: Any = error.when if isinstance(error, Retry) else None
    match when:
        case datetime():
            at = when if when.tzinfo else when.replace(tzinfo=UTC)
            return (at - now).total_seconds()
        case int() | float():
            return min(when, LONGEST_WAIT.total_seconds())  # a whole number may be too large for a float
    return None


def _cause(error: Exception | None) -> Exception | None:
    """The error behind a retry, or the error itself."""
    return error.exc if isinstance(error, Retry) else error


def _untold(error: Exception | None) -> MaskedError | None:
    """What Celery, whose log and results are kept elsewhere, hears of the failure of an encrypted job: its kind.

    None where that is nothing, or decides what Celery does with the message.
    """
    cause = _cause(error)
    if cause is None or isinstance(cause, Reject | TaskRefused):
        return None
    return MaskedError(f"{type(cause).__name__} (the rest is encrypted)")


def _error_text(error: Exception | None, hide: Hide | None = None) -> str:
    if error is None:
        return ""
    cause = _cause(error)
    text = "the task asked for a retry" if cause is None else f"{type(cause).__name__}: {cause}"
    text = text.replace("\x00", "")
    return (text if hide is None else hide(text))[: completion.REASON_LENGTH]
