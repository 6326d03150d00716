"""``@delayed_task``: a Celery task whose calls are jobs, with a row, a lifecycle and a time.

The app that keeps the jobs is not known here: it registers a :class:`~delayhub.celery_support.job_store.JobStore`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, cast

from celery import Task, shared_task
from celery.app.task import Context
from celery.exceptions import Ignore, Retry

from delayhub.celery_support.job_store import Again, Done, Failed, NotRun, ScheduledJob, ScheduleOptions, job_store

P = ParamSpec("P")
R = TypeVar("R")

#: The message header that says for which job the task is to run; its value is the job's id.
JOB_HEADER = "delayhub_job"
#: The message header with the Redis time, in Unix ms, at which the job was due: the worker's own clock may be behind.
NOW_HEADER = "delayhub_now_ms"


if TYPE_CHECKING:

    class _Task(Task[P, R]):
        """Celery's Task, which takes no type parameters at run time."""

else:
    from typing import Generic

    class _Task(Task, Generic[P, R]):
        abstract = True


class DelayedTask(_Task[P, R]):
    """A Celery task with :meth:`schedule`; ``delay`` and ``apply_async`` are Celery's and make no job."""

    abstract = True
    biz_type: str
    job_max_attempts: int | None = None

    def schedule(
        self,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> ScheduledJob:
        """A new job, created in the caller's transaction, that runs this task when it is due.

        Args:
            args: positional arguments, JSON values.
            kwargs: keyword arguments, JSON values.
            options: when, and under which keys: :class:`~delayhub.celery_support.job_store.ScheduleOptions`.

        Raises:
            TypeError: the task cannot be called with these arguments, or there is no such option.
            JobStoreMissing: there is no app in this process that keeps jobs.
        """
        kwargs = kwargs or {}
        # As apply_async does: a call that cannot work fails here, not when it is due.
        cast("Any", self).__header__(*args, **kwargs)
        if unknown := options.keys() - ScheduleOptions.__optional_keys__:
            raise TypeError(f"schedule() has no option {min(unknown)!r}")
        return job_store().schedule(self, args=args, kwargs=kwargs, **options)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the job that the message names; without one it is a plain call."""
        request = self.request
        if request.called_directly or request.get(_RUNNING):
            return super().__call__(*args, **kwargs)
        # From here a task that calls itself makes a plain call.
        request.update({_RUNNING: True})
        if job_of(request) is None:
            return self.run(*args, **kwargs)
        return cast("R", run_job(request, self.run))

    def retry(self, *args: Any, **options: Any) -> Any:
        """In a job, sets when it runs again and leaves the rest to the job's policy; else Celery's own retry.

        Raises:
            Retry: always, unless ``throw=False`` is given; then it is returned.
        """
        if self.request.called_directly or job_of(self.request) is None:
            return super().retry(*args, **options)
        when = options.get("eta") or options.get("countdown")
        again = Retry(exc=options.get("exc"), when=when)
        if options.get("throw", True):
            raise again from options.get("exc")
        return again


#: Marks a request whose function has been called.
_RUNNING = "delayhub_running"


def job_of(request: Context) -> str | None:
    """The id of the job that a message runs; None for a plain call."""
    return (request.headers or {}).get(JOB_HEADER)


def run_job(request: Context, function: Callable[..., Any]) -> Any:
    """What the function gives back, called with the arguments of the job that the request's message names.

    Raises:
        Retry: the job runs again; the store sees to that, and nothing is published here.
        Ignore: the job did not run.
        Exception: the function's own error, where the job failed for the last time.
    """
    headers = request.headers or {}
    outcome = job_store().run(
        headers[JOB_HEADER],
        lambda args, kwargs: function(*args, **kwargs),
        worker=request.hostname or "",
        now_ms=headers.get(NOW_HEADER, 0),
    )
    match outcome:
        case Done(result):
            return result
        case Again(at, error):
            raise Retry(exc=error, when=at)
        case Failed(error):
            raise error
        case NotRun():
            raise Ignore


def delayed_task(
    *, biz_type: str, max_attempts: int | None = None, **options: Any
) -> Callable[[Callable[P, R]], DelayedTask[P, R]]:
    """A decorator: the function becomes a Celery task that can be scheduled as a job.

    Args:
        biz_type: the code of the biz type its jobs belong to; made with the first job where there is none yet.
        max_attempts: attempts of a job; None for as many as the biz type says.
        options: Celery's own, as for ``shared_task``: name, queue, bind, time_limit, …

    Raises:
        TypeError: the function is asynchronous (``async def``, or a generator), so calling it would run nothing.
    """

    def decorate(function: Callable[P, R]) -> DelayedTask[P, R]:
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{function.__name__} is an async def, which a Celery worker would call and never await:"
                " write a def that calls asyncio.run() or asgiref's async_to_sync()"
            )
        if inspect.isgeneratorfunction(function):
            raise TypeError(f"{function.__name__} is a generator: a Celery worker would call it and run nothing of it")
        # A job's message stays with its worker until the outcome is written.
        kept = {"acks_late": True, "reject_on_worker_lost": True, **options}
        make = cast("Any", shared_task)(base=DelayedTask, biz_type=biz_type, job_max_attempts=max_attempts, **kept)
        return cast("DelayedTask[P, R]", make(function))

    return decorate
