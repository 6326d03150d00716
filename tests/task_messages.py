"""Task messages, as a worker gets them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils import timezone

from delayhub.celery_support.delayed_task import JOB_HEADER, NOW_HEADER
from delayhub.engine import due_ms
from tasksapp.tasks import run_task


@contextmanager
def message_of(task: Any, *, headers: dict[str, Any] | None) -> Iterator[None]:
    """While it is open, the task runs a message with these headers (None: it has none)."""
    task.push_request(headers=headers, hostname="w1@here", called_directly=False)
    try:
        yield
    finally:
        task.pop_request()


def job_headers(job_id: object, *, now_ms: int | None = None) -> dict[str, Any]:
    """The headers of a job's message.

    Args:
        job_id: the job.
        now_ms: the time at which the job was due, Unix ms; by default now, rounded up as the times of timers are.
            Rounded down, it would be before the due time of a job that was made in this very millisecond.
    """
    return {JOB_HEADER: str(job_id), NOW_HEADER: now_ms or due_ms(timezone.now())}


def work(task: Any, job_id: object, *, now_ms: int | None = None) -> Any:
    """Runs the task for the job, as a worker does that got its message.

    Args:
        task: a delayed task.
        job_id: its job.
        now_ms: the time at which the message says the job was due, Unix ms; by default now.
    """
    with message_of(task, headers=job_headers(job_id, now_ms=now_ms)):
        return task()


def call_run_task(job_id: object, task_name: str) -> None:
    """Runs a task that knows nothing of jobs for the job, by the task of ours that workers run in its place."""
    bridge: Any = run_task
    with message_of(bridge, headers=job_headers(job_id)):
        bridge.run(task_name)
