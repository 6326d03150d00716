"""The Celery app of ``make chaos-limits``: a task with a rate limit, and others; each writes down when it started."""

from __future__ import annotations

import os
import time
from pathlib import Path

import celery

import delayhub

FOLDER = Path(os.environ["LIMITS_FOLDER"])

app = celery.Celery("limits", broker=os.environ["LIMITS_BROKER"])
delayhub.install(app)
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=4,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={"lease_seconds": 3},
)


def note(name: str, number: int, at: float) -> None:
    """Appends a line to a file of the run, by one system call."""
    file = os.open(FOLDER / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, f"{number} {at:.6f}\n".encode())
    finally:
        os.close(file)


@app.task(name="limits.mail", rate_limit=os.environ["LIMITS_RATE"])
def mail(number: int) -> None:
    """What may not start more often."""
    note("mail", number, time.time())  # noqa: TID251  one machine's clock, compared between its processes
    time.sleep(0.05)


@app.task(name="limits.work")
def work(number: int, seconds: float) -> None:
    """What has no limit."""
    note("work", number, time.time())  # noqa: TID251  as above
    time.sleep(seconds)
