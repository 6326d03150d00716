"""Task messages, as a worker gets them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils import timezone

from delayhub.celery_support.delayed_task import JOB_HEADER, NOW_HEADER
from delayhub.engine import due_ms


@contextmanager
def message_of(task: Any, *, headers: dict[str, Any] | None) -> Iterator[None]:
    """While it is open, the task runs a message with these headers (None: it has none)."""
    task.push_request(headers=headers, hostname="w1@here", called_directly=False)
    try:
        yield
    finally:
        task.pop_request()


def work(task: Any, job_id: object, *, now_ms: int | None = None) -> Any:
    """Runs the task for the job, as a worker that got its message does."""
    headers = {JOB_HEADER: str(job_id), NOW_HEADER: now_ms or due_ms(timezone.now())}
    with message_of(task, headers=headers):
        return task()
