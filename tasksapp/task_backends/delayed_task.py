"""Jobs behind ``@delayed_task``: a row each, in the same table and with the same transitions as all others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Unpack
from uuid import UUID

import redis
from asgiref.sync import sync_to_async
from celery import current_app
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections, router

from delayhub.celery_support.job_arguments import encoded
from delayhub.celery_support.job_store import JobCall, JobTask, TaskOutcome
from delayhub.job_fields import ScheduleOptions
from tasksapp import jobs
from tasksapp.checks import check_times
from tasksapp.errors import InvalidJob
from tasksapp.jobs.writing import Batch
from tasksapp.models import Job
from tasksapp.stats.delivery_health import delivery_health
from tasksapp.task_backends.declared_series import series_warnings
from tasksapp.task_backends.task_biz_type import biz_type_of_task
from tasksapp.timers.fitness import server_faults
from tasksapp.workers.task_runner import task_runner

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ScheduledTask:
    """A call of a task that waits for its time.

    Args:
        id: the job's id.
        created: False where an earlier call with the same idempotency or debounce key made it.
        replaced: whether this call replaced that one.
        using: the database it is in.
        batch: what it shares with the jobs that were created together with it.
    """

    id: UUID
    created: bool
    replaced: bool
    using: str
    batch: Batch = field(repr=False, compare=False)

    @property
    def armed(self) -> bool | None:
        """Whether its timer is set, as far as it needs one; None while the transaction is open."""
        return self.batch.armed

    @property
    def job(self) -> Job:
        """The row as it is now."""
        return Job.objects.using(self.using).select_related("biz_type").get(id=self.id)

    def reschedule(self, *, due_at: datetime | None = None, delay: timedelta | None = None) -> None:
        """Moves it to another time. Raises WrongState once it runs or has ended."""
        jobs.reschedule(self.id, due_at=due_at, delay=delay, using=self.using)

    def cancel(self) -> None:
        """Cancels it. Raises WrongState once it runs or has ended."""
        jobs.cancel(self.id, using=self.using)

    async def areschedule(self, *, due_at: datetime | None = None, delay: timedelta | None = None) -> None:
        """Moves it to another time, for asynchronous callers."""
        await jobs.areschedule(self.id, due_at=due_at, delay=delay, using=self.using)

    async def acancel(self) -> None:
        """Cancels it, for asynchronous callers."""
        await jobs.acancel(self.id, using=self.using)


class TableStore:
    """Keeps the jobs of delayed tasks in the table of all jobs."""

    def schedule(
        self,
        task: JobTask,
        *,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        **options: Unpack[ScheduleOptions],
    ) -> ScheduledTask:
        """A new job in the caller's transaction; the first one makes the biz type.

        Raises what ``jobs.create`` does, and TypeError where an argument cannot be JSON.
        """
        options.setdefault("max_attempts", task.job_max_attempts)
        using, body = router.db_for_write(Job), encoded(args, kwargs)
        biz_type = biz_type_of_task(task, using=using)
        try:
            created = jobs.create(
                biz_type.code,
                body=body,
                tenant=task.job_tenant,
                using=using,
                **options,
            )
        except InvalidJob as error:
            if error.field != "body":
                raise
            # The caller gave arguments, and knows of no body.
            about = error.message.replace("body", "the arguments", 1)
            raise InvalidJob("arguments", error.code, about) from None
        return ScheduledTask(created.job_id, created.created, created.replaced, using, created.batch)

    async def aschedule(
        self,
        task: JobTask,
        *,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        **options: Unpack[ScheduleOptions],
    ) -> ScheduledTask:
        """The same for asynchronous callers: in the thread of the request's synchronous code, committed by itself."""
        later = sync_to_async(self.schedule, thread_sensitive=True)
        return await later(task, args=args, kwargs=kwargs, **options)

    def run(
        self, job_id: str, call: Callable[[JobCall], Any], *, task_name: str, worker: str, now_ms: int
    ) -> TaskOutcome:
        """Claims the row, calls the function if the project allows that, writes the outcome."""
        runner = task_runner(worker=worker, using=router.db_for_write(Job))
        return runner.run(UUID(job_id), call, now_ms=now_ms, task_name=task_name)

    def time_limit_exceeded(self, job_id: str, *, worker: str, seconds: float) -> None:
        """Completes the job with a failed attempt; another process of the worker than the one that ran it may do so."""
        task_runner(worker=worker, using=router.db_for_write(Job)).fail_for_time(UUID(job_id), seconds=seconds)

    def faults(self, client: redis.Redis, *, prefix: str) -> list[str]:
        """What keeps timers from firing on that broker, a sentence for each. Raises RedisError."""
        found = [f"{error.msg}: {error.hint}" for error in check_times()]
        return found + server_faults(client, prefix=prefix) + _table_faults(using=router.db_for_write(Job))

    def delivery_faults(self) -> list[str]:
        """A sentence where no job is delivered at this moment."""
        health = delivery_health()
        return [] if health.is_ok else [str(health)]

    def warnings(self) -> list[str]:
        """A sentence for each kind of difference between the series that tasks declare and those that are stored."""
        return series_warnings(current_app)


def _table_faults(*, using: str) -> list[str]:
    """A sentence where the database has no table for jobs; none where it does not answer."""
    try:
        with connections[using].cursor() as cursor:
            tables = connections[using].introspection.table_names(cursor)
    except (OperationalError, InterfaceError):
        return []
    if Job._meta.db_table in tables:
        return []
    named = "" if using == DEFAULT_DB_ALIAS else f" --database {using}"
    return [f"the database {using!r} has no table {Job._meta.db_table}: type python manage.py migrate{named}"]
