"""Task messages, as a worker gets them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from delayhub.celery_support.delayed_task import JOB_HEADER, NOW_HEADER
from delayhub.engine import SystemClock


@contextmanager
def message_of(task: Any, *, headers: dict[str, Any] | None) -> Iterator[None]:
    """While it is open, the task runs a message with these headers (None: it has none)."""
    task.push_request(headers=headers, hostname="w1@here", called_directly=False)
    try:
        yield
    finally:
        task.pop_request()


def work(task: Any, job_id: object, *, now_ms: int | None = None) -> Any:
    """Runs the task for the job, as a worker does that got its message.

    Args:
        task: a delayed task.
        job_id: its job.
        now_ms: the time at which the message says the job was due, Unix ms; by default now.
    """
    headers = {JOB_HEADER: str(job_id), NOW_HEADER: now_ms or SystemClock().now_ms()}
    with message_of(task, headers=headers):
        return task()
