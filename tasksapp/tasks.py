"""The Celery task that due timers come to."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from celery import Celery, Task, shared_task
from django.db import InterfaceError, OperationalError, connections

from delayhub.celery_support.delayed_task import JOB_HEADER, NOW_HEADER, DelayedTask, run_job
from delayhub.errors import UnknownTask
from tasksapp.biz_types.cache import catalogue
from tasksapp.sql.claim_jobs import ClaimedJob
from tasksapp.workers import signals as worker  # noqa: F401  connects the loader and the post office to the worker's life
from tasksapp.workers.delivery_runtime import post_office

logger = logging.getLogger(__name__)


@shared_task(
    name="tasksapp.deliver",
    bind=True,
    acks_late=True,
    acks_on_failure_or_timeout=False,
    reject_on_worker_lost=True,
    ignore_result=True,
    max_retries=None,
)
def deliver(self: Task[..., Any], ids: Sequence[str], *, lane: str, now_ms: int, struck: bool = False) -> None:
    """Claims the due jobs in one statement and hands them over; their callbacks go on when this has returned.

    Args:
        ids: the jobs whose timers were due.
        lane: the timer lane they came from.
        now_ms: Redis' time at that moment, Unix ms.
        struck: whether a worker was lost with these ids before; they come one at a time then.
    """
    office = post_office()
    connection = connections[office.courier.using]
    if connection.errors_occurred:
        # Celery keeps connections; one that broke is replaced here, or every batch from now on would fail.
        connection.close_if_unusable_or_obsolete()
    claimed_at = office.clock.monotonic()
    try:
        answer = office.courier.claim([UUID(job_id) for job_id in ids], now_ms=now_ms)
    except (OperationalError, InterfaceError) as error:
        # The loader brings the timers again; until then the database has time to come back.
        logger.warning("%d due jobs wait for the database: %s", len(ids), error, extra={"action": "claim"})
        return
    office.courier.hand_over(answer, office.dispatcher, claimed_at=claimed_at)
    for job in answer.forwarded:
        _forward(self.app, job, now_ms=now_ms, using=office.courier.using)


@shared_task(
    name="tasksapp.run_task",
    bind=True,
    acks_late=True,
    reject_on_worker_lost=True,
    ignore_result=True,
    max_retries=None,
)
def run_task(self: Task[..., Any], task_name: str) -> None:
    """Runs the job that the message names with a task that knows nothing of jobs."""

    def call(*args: Any, **kwargs: Any) -> Any:
        task = self.app.tasks.get(task_name)
        if task is None:
            raise UnknownTask(
                f"no task is registered as {task_name!r} in this worker: import the module that defines it"
            )
        return task(*args, **kwargs)

    run_job(self.request, call)


def _forward(app: Celery, job: ClaimedJob, *, now_ms: int, using: str) -> None:
    """Sends the message of a job whose target is a Celery task; its own worker claims the row."""
    biz_type = catalogue.exact(job.biz_type_id, job.biz_type_updated_at, using=using)
    task = app.tasks.get(biz_type.task_name)
    # A delayed task, or one that only other workers know, is sent by its name; a plain one is run by ours.
    plain = task is not None and not isinstance(task, DelayedTask)
    app.send_task(
        run_task.name if plain else biz_type.task_name,
        args=[biz_type.task_name] if plain else (),
        task_id=f"{job.id}:{job.attempts + 1}",
        queue=biz_type.task_queue or getattr(task, "queue", None),
        headers={JOB_HEADER: str(job.id), NOW_HEADER: now_ms},
    )
