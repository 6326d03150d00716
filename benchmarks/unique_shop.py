"""The Celery app of ``make chaos NAME=unique``: unique tasks, acked early and late; each run writes down its bounds."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import celery
from celery.signals import task_postrun

import delayhub
from benchmarks.appended import append_line
from delayhub import Unique
from delayhub.celery_support.request import OurRequest

FOLDER = Path(os.environ["UNIQUE_FOLDER"])
#: Schedules that run each second; most of their occurrences come while the one before still runs.
SCHEDULED = 3

app = celery.Celery("unique", broker=os.environ["UNIQUE_BROKER"], backend=os.environ["UNIQUE_RESULTS"])
delayhub.install(app)
app.conf.update(
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={"lease_seconds": float(os.environ["UNIQUE_LEASE"])},
    result_expires=3600,
    beat_schedule={
        f"every second {number}": {
            "task": "unique.late" if number % 2 else "unique.early",
            "schedule": 1.0,
            "args": (f"scheduled{number}", 1.4),
        }
        for number in range(SCHEDULED)
    },
)


def note(*words: object) -> None:
    """Appends a line to the file of the run."""
    now = time.time()  # noqa: TID251  compared with the kills' times
    append_line(FOLDER / "runs", " ".join(map(str, (*words, f"{now:.6f}"))))


def run(task: celery.Task, key: str, seconds: float) -> int:
    """Runs for so long; both its bounds are written down."""
    said = task.name, key, task.request.id, task.request.retries, task.request.hostname
    note("begin", *said)
    time.sleep(seconds)
    note("end", *said)
    return 1


@task_postrun.connect(weak=False)
def note_done(*, task: celery.Task, **_: object) -> None:
    """Its result is stored, and what follows it is sent: from now on a kill takes nothing of it."""
    note("done", task.name, "-", task.request.id, task.request.retries, task.request.hostname)


class NotedRequest(OurRequest):
    """Writes down which worker is about to start a task, before it acknowledges that."""

    def on_accepted(self, pid: Any, time_accepted: float) -> None:
        """Called when the task is about to start."""
        note("accepted", self.task.name, "-", self.id, self.request_dict.get("retries") or 0, self.hostname)
        super().on_accepted(pid, time_accepted)


@app.task(name="unique.late", bind=True, unique=Unique(by=["key"]), acks_late=True, reject_on_worker_lost=True)
def late(self: celery.Task, key: str, seconds: float) -> int:
    """Comes back where its worker is killed."""
    return run(self, key, seconds)


@app.task(name="unique.early", bind=True, unique=Unique(by=["key"]), Request=NotedRequest)
def early(self: celery.Task, key: str, seconds: float) -> int:
    """Is lost where its worker is killed, as Celery has it."""
    return run(self, key, seconds)


@app.task(name="unique.retried", bind=True, unique=Unique(by=["key"]), acks_late=True, reject_on_worker_lost=True)
def retried(self: celery.Task, key: str, seconds: float) -> int:
    """Runs twice, under one key."""
    run(self, key, seconds)
    if not self.request.retries:
        raise self.retry(countdown=0.2)
    return 1


@app.task(name="unique.total", acks_late=True, reject_on_worker_lost=True)
def total(counts: list[int]) -> int:
    """The body of the chords."""
    return sum(counts)
