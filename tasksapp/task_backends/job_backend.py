"""JobBackend: what the backends of Django's tasks framework have in common, Django's own and that for Django before.

A task that is enqueued is a job, in the caller's transaction. What its attempts gave is kept with them, in the
statement that writes the outcome, and goes when the job is purged.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from importlib import import_module
from math import floor
from traceback import format_exception
from types import ModuleType
from typing import Any
from uuid import UUID

from django.core.signing import BadSignature, Signer
from django.db import router
from django.utils.module_loading import import_string

from delayhub import delayed_task
from delayhub.celery_support.job_arguments import decoded
from delayhub.celery_support.job_store import job_store
from tasksapp.biz_types.allowed_tasks import DJANGO_QUEUES, DJANGO_TASK
from tasksapp.errors import TaskRefused
from tasksapp.models import Attempt, Job, Status
from tasksapp.workers.kept_text import AFTER, ATTRIBUTE, Kept

logger = logging.getLogger(__name__)

#: The packages that have the framework: Django's own (from 6.0), and the one for Django before.
FRAMEWORKS = ("django.tasks", "django_tasks")
#: What the codes of their biz types begin with; the name of the queue follows.
BIZ_TYPE_PREFIX = DJANGO_QUEUES
#: The end of a traceback says most.
TRACEBACK_LENGTH = 16_000
MOST_RESULT_BYTES = 65_536

#: Signs the call that ``enqueue`` writes into a body: a body says what is imported, and others can write bodies too.
_signer = Signer(salt="delayhub.django-tasks")

_STATUS = {Status.PENDING: "READY", Status.RUNNING: "RUNNING", Status.SUCCEEDED: "SUCCESSFUL"}


@delayed_task(biz_type=f"{BIZ_TYPE_PREFIX}default", name=DJANGO_TASK, bind=True, ignore_result=True)
def run_django_task(self: Any, **call: Any) -> Kept:
    """Runs the task of a job; its return value, or its exception's class and traceback, is kept with the attempt."""
    framework = call.get("framework")
    if framework not in FRAMEWORKS:
        raise TaskRefused(f"The project's code has not enqueued this: there is no tasks framework {framework!r}.")
    backend = import_module(framework).task_backends[call["backend"]]
    kept: Kept = backend.run(self.job.id)
    return kept


class TaskExited(Exception):
    """A task ended by what would end the process, such as ``SystemExit``."""


class JobBackend:
    """A backend whose tasks are jobs. ``OPTIONS`` may have ``max_attempts``; else the biz type of the queue decides."""

    #: The package whose backend it is; a subclass says it.
    framework: str
    alias: str
    options: Any

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def validate_task(self, task: Any) -> None:
        """Raises the framework's InvalidTask error; the framework's own class checks."""
        super().validate_task(task)  # type: ignore[misc]  # the framework's class comes after this one

    def enqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of a task that waits: a job, created in the caller's transaction.

        Raises TypeError where an argument is no JSON, InvalidJob where the job cannot be made.
        """
        self.validate_task(task)
        call = {
            "framework": self.framework,
            "backend": self.alias,
            "task": task.module_path,
            "args": normalized(list(args)),
            "kwargs": normalized(dict(kwargs)),
            # As it was given: the job's own has ten steps.
            "priority": task.priority,
            "queue_name": task.queue_name,
            "run_after": task.run_after.isoformat() if task.run_after else None,
        }
        call["signature"] = _signer.signature(_signed_text(call))
        scheduled = job_store().schedule(
            _QueueTask(task.queue_name, max_attempts=self.options.get("max_attempts")),
            args=[],
            kwargs=call,
            due_at=task.run_after,
            priority=job_priority(task.priority),
        )
        result = self.get_result(str(scheduled.id))
        self._module("signals").task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        """The result as it is now. Raises the framework's TaskResultDoesNotExist, where there is none."""
        try:
            job_id = UUID(result_id)
        except ValueError:
            raise self._no_result(result_id) from None
        using = router.db_for_write(Job)
        jobs = Job.objects.using(using).filter(id=job_id, biz_type__code__startswith=BIZ_TYPE_PREFIX)
        job = jobs.select_related("biz_type").first()
        if job is None or not _is_enqueued(job):
            raise self._no_result(result_id)
        attempts = list(Attempt.objects.using(using).filter(job_id=job_id).order_by("number"))
        return self._result(job, attempts)

    def run(self, job_id: str) -> Kept:
        """Runs the task of a job that this worker has claimed.

        Raises what the task raises; the exception brings its class and traceback. Raises TaskRefused for a job that the
        project's own code did not enqueue: its body would import whatever it names.
        """
        try:
            result = self.get_result(job_id)
        except self._module("exceptions").TaskResultDoesNotExist:
            said = "The project's code has not enqueued this: only enqueue() makes jobs of Django's tasks."
            raise TaskRefused(said) from None
        self._module("signals").task_started.send(type(self), task_result=result)
        task = result.task
        context = [self._module("base").TaskContext(task_result=result)] if task.takes_context else []
        try:
            text = _as_text(task.call(*context, *result.args, **result.kwargs))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # As Django's backends have it, a task that leaves by exit() has failed; the worker goes on.
            failure = error if isinstance(error, Exception) else TaskExited(f"{type(error).__name__}: {error}")
            about = {"exception": _path_of(type(error)), "traceback": _traceback_of(error)}
            setattr(failure, ATTRIBUTE, json.dumps(about))
            setattr(failure, AFTER, partial(self._send_finished, job_id))
            if failure is error:
                raise
            raise failure from error
        return Kept(text, after=partial(self._send_finished, job_id))

    def _send_finished(self, job_id: str, error: BaseException | None) -> None:
        """Tells the framework's receivers, such as its log; with the exception at hand, as its own backends do."""
        try:
            result = self.get_result(job_id)
            if error is None:
                self._module("signals").task_finished.send(type(self), task_result=result)
                return
            try:
                raise error
            except type(error):
                self._module("signals").task_finished.send(type(self), task_result=result)
        except Exception:
            # The outcome is committed: what a receiver raises changes nothing about it.
            logger.exception("a receiver of task_finished failed", extra={"job_id": job_id})

    def _result(self, job: Job, attempts: Sequence[Attempt]) -> Any:
        base = self._module("base")
        call = decoded(job.body)["kwargs"]
        run_after = call["run_after"]
        task = import_string(call["task"]).using(
            priority=call["priority"],
            queue_name=call["queue_name"],
            run_after=datetime.fromisoformat(run_after) if run_after else None,
            backend=call["backend"],
        )
        is_running = job.status == Status.RUNNING
        begun = [attempt.started_at for attempt in attempts] + ([job.updated_at] if is_running else [])
        result = base.TaskResult(
            task=task,
            id=str(job.id),
            status=base.TaskResultStatus[_STATUS.get(Status(job.status), "FAILED")],
            enqueued_at=job.created_at,
            started_at=begun[0] if begun else None,
            last_attempted_at=begun[-1] if begun else None,
            finished_at=job.finished_at,
            args=call["args"],
            kwargs=call["kwargs"],
            backend=self.alias,
            errors=[_error_of(attempt, base=base) for attempt in attempts if attempt.error],
            worker_ids=[attempt.worker for attempt in attempts] + ([job.worker] if is_running else []),
        )
        if job.status == Status.SUCCEEDED and attempts and attempts[-1].response_body:
            # As Django's own backends do: the field is not one of the constructor's.
            object.__setattr__(result, "_return_value", json.loads(attempts[-1].response_body))
        return result

    def _module(self, name: str) -> ModuleType:
        return import_module(f"{self.framework}.{name}")

    def _no_result(self, result_id: str) -> Exception:
        found: Exception = self._module("exceptions").TaskResultDoesNotExist(result_id)
        return found


class _QueueTask:
    """The task that runs them all, with the biz type of a queue."""

    name: str = run_django_task.name
    aliases: tuple[str, ...] = ()
    job_tenant: str | None = None

    def __init__(self, queue_name: str, *, max_attempts: int | None) -> None:
        self.biz_type = f"{BIZ_TYPE_PREFIX}{queue_name}"
        self.job_max_attempts = max_attempts


def _is_enqueued(job: Job) -> bool:
    """Whether the project's own code made the job as it is: its body names what is imported and called."""
    match decoded(job.body):
        case {"kwargs": {"signature": str(signature), **call}}:
            pass
        case _:
            return False
    try:
        _signer.unsign(f"{_signed_text(call)}{_signer.sep}{signature}")
    except BadSignature:
        return False
    return True


def _signed_text(call: Mapping[Any, Any]) -> str:
    return json.dumps(call, sort_keys=True)


def job_priority(priority: int) -> int:
    """The step of a job, 0 first to 9 last, for a priority from 100 (first) to -100."""
    return 9 - min(9, floor((priority + 100) * 10 / 201))


def normalized(value: Any) -> Any:
    """The value as JSON gives it back. Raises TypeError where it is none."""
    match value:
        case str() | int() | float() | bool() | None:
            return value
        case bytes():
            return value.decode()
        case Mapping():
            return {normalized(name): normalized(each) for name, each in value.items()}
        case Sequence():
            return [normalized(each) for each in value]
    # In the words of the framework, which its own tests look for.
    raise TypeError(f"Unsupported type: {type(value)}, got {value!r:.80}")


def _as_text(returned: Any) -> str:
    """Raises TypeError where it is no JSON, ValueError where it is too long."""
    text = json.dumps(normalized(returned))
    if len(text) > MOST_RESULT_BYTES:
        raise ValueError(f"the return value has {len(text)} bytes as JSON; {MOST_RESULT_BYTES} are kept")
    return text


def _error_of(attempt: Attempt, *, base: ModuleType) -> Any:
    try:
        about = json.loads(attempt.response_body)
    except ValueError:
        # The worker was lost, or the task ran into a time limit: there was no exception.
        about = {"exception": "delayhub.errors.DelayHubError", "traceback": attempt.error}
    return base.TaskError(exception_class_path=about["exception"], traceback=about["traceback"])


def _path_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _traceback_of(error: BaseException) -> str:
    return "".join(format_exception(error))[-TRACEBACK_LENGTH:]
