"""``@delayed_task``: a Celery task whose calls are jobs, with a row, a lifecycle and a time.

The app that keeps the jobs is not known here: it registers a :class:`~delayhub.celery_support.job_store.JobStore`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, cast

from celery import Task, shared_task
from celery.app.task import Context
from celery.exceptions import Ignore, Reject, Retry

from delayhub.celery_support.job_store import (
    Again,
    Done,
    Failed,
    JobCall,
    NotRun,
    ScheduledJob,
    job_store,
)
from delayhub.job_fields import Carried, ScheduleOptions

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
    #: The code of the tenant whose biz type that is; None for the default one.
    job_tenant: str | None = None
    job_max_attempts: int | None = None
    #: When it repeats: the fields of its series; None where it does not.
    job_series: Mapping[str, Any] | None = None
    #: The wait of ``self.retry()`` in a job; None for the biz type's backoff.
    job_retry_delay: float | None = None
    #: Names that it had in earlier releases.
    aliases: tuple[str, ...] = ()
    #: Whether it is the task of another name, kept for messages and biz types that have an earlier one.
    is_alias = False
    job_queue: str | None = None

    @property
    def job(self) -> JobCall | None:
        """The job that the task runs at this moment: its id, the attempt, how many there are. None in a plain call."""
        return cast("JobCall | None", self.request.get(_JOB))

    @property
    def queue(self) -> str | None:
        """The queue that the decorator or the base names; for Celery, which warns where a task's own class has one."""
        return self.job_queue or getattr(super(), "queue", None)

    def schedule(
        self,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> ScheduledJob:
        """A new job, created in the caller's transaction, that runs this task when it is due.

        Args:
            args: positional arguments: JSON values, and what Celery's JSON carries (Decimal, date, UUID, bytes …).
            kwargs: keyword arguments, the same.
            options: when, and under which keys: :class:`~delayhub.job_fields.ScheduleOptions`.

        Raises:
            TypeError: the task cannot be called with these arguments, one of them cannot be JSON, or there is no such
                option.
            JobStoreMissing: there is no app in this process that keeps jobs.
        """
        kwargs = self._checked(args, kwargs, options)
        return job_store().schedule(self, args=args, kwargs=kwargs, **options)

    async def aschedule(
        self,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> ScheduledJob:
        """As :meth:`schedule`, for asynchronous callers; the job is committed when it returns."""
        kwargs = self._checked(args, kwargs, options)
        return await job_store().aschedule(self, args=args, kwargs=kwargs, **options)

    def _checked(
        self, args: Sequence[Any], kwargs: Mapping[str, Any] | None, options: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The keyword arguments of a call that can work. Raises TypeError for one that cannot."""
        kwargs = kwargs or {}
        if not isinstance(args, (list, tuple)):
            raise TypeError(f"args must be a list or a tuple of arguments, got {args!r}")
        if not isinstance(kwargs, Mapping):
            raise TypeError(f"kwargs must be a dictionary, got {kwargs!r}")
        # As apply_async does: a call that cannot work fails here, not when it is due.
        cast("Any", self).__header__(*args, **kwargs)
        if unknown := options.keys() - ScheduleOptions.__optional_keys__:
            raise TypeError(f"schedule() has no option {min(unknown)!r}")
        return kwargs

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the job that the message names; without one it is a plain call."""
        request = self.request
        call = super().__call__
        if request.called_directly or request.get(_RUNNING):
            return call(*args, **kwargs)
        # From here a task that calls itself makes a plain call.
        request.update({_RUNNING: True})
        # A project's own base class may do more in a call than run the function. Celery's would make another request.
        function = self.run if getattr(call, "__func__", None) is Task.__call__ else call
        if job_of(request) is None:
            return function(*args, **kwargs)
        return cast("R", run_job(request, function, task_name=self.name))

    def retry(self, *args: Any, **options: Any) -> Any:
        """In a job, sets when it runs again and leaves the rest to the job's policy; else Celery's own retry.

        Raises:
            Retry: always, unless ``throw=False`` is given; then it is returned.
            Reject: ``max_retries`` is given and used up; the job is dead.
            TypeError: in a job, other arguments are given: those of a job stay as they are.
        """
        if self.request.called_directly or job_of(self.request) is None:
            return super().retry(*args, **options)
        if args or options.get("args") is not None or options.get("kwargs") is not None:
            raise TypeError("retry() in a job cannot change its arguments: schedule another job")
        error, most = options.get("exc"), options.get("max_retries")
        if most is not None and self.request.retries >= most:
            reason = f"{error!r}: " if error is not None else ""
            raise Reject(f"{reason}all retries are used up that max_retries={most} allows") from error
        waits = (options.get("eta"), options.get("countdown"), self.job_retry_delay)
        when: Any = next((wait for wait in waits if wait is not None), None)
        again = Retry(exc=error, when=when)
        if options.get("throw", True):
            raise again from error
        return again


#: Marks a request whose function has been called.
_RUNNING = "delayhub_running"
#: What the decorator may say of the jobs of a task that repeats. Celery has a ``priority`` of its own.
CARRIED_BY_SERIES = frozenset(Carried.__annotations__) - {"priority", "max_attempts"}
#: Where a request keeps the call of its job.
_JOB = "delayhub_job_call"
#: A job has no more attempts than this.
MOST_ATTEMPTS = 1_000
#: What to do about a function that is asynchronous.
_RUN_IT = "write a def that calls asyncio.run() or asgiref's async_to_sync()"


def job_of(request: Context) -> str | None:
    """The id of the job that a message runs; None for a plain call."""
    return (request.headers or {}).get(JOB_HEADER)


def run_job(request: Context, function: Callable[..., Any], *, task_name: str) -> Any:
    """What the function of that task gives back, called with the arguments of the job that the message names.

    Raises:
        Retry: the job runs again; the store sees to that, and nothing is published here.
        Ignore: the job did not run.
        Exception: the function's own error, where the job failed for the last time.
    """
    headers = request.headers or {}

    def call(job: JobCall) -> Any:
        # What Celery's own retries go by, and ``retry_backoff``.
        request.update({_JOB: job, "retries": job.attempt - 1})
        return _ran(function(*job.args, **job.kwargs))

    outcome = job_store().run(
        headers[JOB_HEADER],
        call,
        task_name=task_name,
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


def _ran(result: Any) -> Any:
    """The result of a function that has run.

    Raises:
        TypeError: it is a coroutine or a generator, so nothing of the function has run. The decorator cannot see that
            in a function that another decorator wraps, and a plain Celery task is not refused where it is made.
    """
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError(f"the task gave back a coroutine, of which nothing ran: {_RUN_IT}")
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError("the task gave back a generator, of which nothing ran: write a def without yield")
    return result


def delayed_task(
    *,
    biz_type: str,
    tenant: str | None = None,
    max_attempts: int | None = None,
    queue: str | None = None,
    aliases: Sequence[str] = (),
    cron: str | None = None,
    time_zone: str | None = None,
    every: timedelta | float | None = None,
    overlap: str | None = None,
    catch_up: str | None = None,
    **options: Any,
) -> Callable[[Callable[P, R]], DelayedTask[P, R]]:
    """A decorator: the function becomes a Celery task that can be scheduled as a job.

    Args:
        biz_type: the code of the biz type its jobs belong to; made with the first job where there is none yet.
        tenant: the code of the tenant whose biz type that is; None for the default one.
        max_attempts: attempts of a job; None for one more than ``max_retries``, and without that for as many as the biz
            type says.
        queue: its Celery queue, before the one that the biz type names; None for the biz type's, or Celery's choice.
        aliases: names that the task had in earlier releases. A worker runs it by each of them, so that jobs, messages
            and biz types with an old name go on.
        cron: when it repeats, such as ``0 9 * * 1-5``: ``manage.py sync_series`` stores that as a series. It is then
            called without arguments.
        time_zone: that of ``cron``, such as ``Asia/Shanghai``; UTC by default.
        every: in the place of ``cron``, how long from one to the next, in seconds or as a ``timedelta``.
        overlap: ``start``, ``skip`` or ``cancel``: what happens where the one before has not finished.
        catch_up: ``none``, ``latest`` or ``all``: which run after an outage.
        options: what the jobs of the series carry, such as ``flow_key``: those of :class:`~delayhub.job_fields.Carried`
            but ``priority``, which is Celery's. All others are Celery's own, as for ``shared_task``: name, bind, base,
            time_limit, … In a job, ``max_retries`` limits all attempts, since each failure is one;
            ``default_retry_delay`` is the wait of ``self.retry()``.

    Raises:
        TypeError: the function is asynchronous (``async def``, or a generator), so calling it would run nothing; or
            ``base`` is no class of tasks, ``aliases`` no list of names, or ``cron`` and ``every`` are both given.
    """
    repeats = {"cron": cron, "time_zone": time_zone, "every": every, "overlap": overlap, "catch_up": catch_up}
    repeats |= {name: options.pop(name) for name in CARRIED_BY_SERIES & options.keys()}
    series = {name: value for name, value in repeats.items() if value is not None}
    if series and ("cron" in series) == ("every" in series):
        raise TypeError("a task that repeats takes one of cron and every")
    if isinstance(aliases, str) or not all(isinstance(alias, str) and alias for alias in aliases):
        raise TypeError(f'aliases must be a list of task names, such as ["shop.tasks.remind"], got {aliases!r}')
    base = _with_jobs(options.pop("base", DelayedTask))
    if max_attempts is None and _is_given("max_retries", options, base):
        retries = options.get("max_retries", base.max_retries)
        max_attempts = MOST_ATTEMPTS if retries is None else min(retries + 1, MOST_ATTEMPTS)
    retry_delay = None
    if _is_given("default_retry_delay", options, base):
        retry_delay = options.get("default_retry_delay", base.default_retry_delay)

    def decorate(function: Callable[P, R]) -> DelayedTask[P, R]:
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{function.__name__} is an async def, which a Celery worker would call and never await: {_RUN_IT}"
            )
        if inspect.isgeneratorfunction(function):
            raise TypeError(f"{function.__name__} is a generator: a Celery worker would call it and run nothing of it")
        # A job's message stays with its worker until the outcome is written.
        kept = {"acks_late": True, "reject_on_worker_lost": True, **options}
        kept |= {"biz_type": biz_type, "job_max_attempts": max_attempts, "job_retry_delay": retry_delay}
        kept |= {"base": base, "job_queue": queue, "job_tenant": tenant, "aliases": tuple(aliases)}
        kept |= {"job_series": series or None}
        make = cast("Any", shared_task)
        for alias in aliases:
            make(**{**kept, "name": alias, "is_alias": True})(function)
        return cast("DelayedTask[P, R]", make(**kept)(function))

    return decorate


def _with_jobs(base: Any) -> type[DelayedTask[..., Any]]:
    """A class of tasks that does what that class does, and can be scheduled. Raises TypeError where it is none."""
    if not isinstance(base, type) or not issubclass(base, Task):
        raise TypeError(f"base must be a class of Celery tasks, got {base!r}")
    if issubclass(base, DelayedTask):
        return base
    made: Any = cast("Any", type)(base.__qualname__, (DelayedTask, base), {"abstract": True})
    return cast("type[DelayedTask[..., Any]]", made)


def _is_given(name: str, options: Mapping[str, Any], base: type[Task[..., Any]]) -> bool:
    """Whether the decorator or the task's own base class sets the option; Celery has a default for each."""
    return name in options or getattr(base, name) != getattr(Task, name)
