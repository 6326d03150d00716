"""The Celery app of ``make chaos NAME=unique``: unique tasks, acked early and late; each run writes down its bounds."""

from __future__ import annotations

from typing import Any

import celery
from celery.signals import task_postrun

from benchmarks.shop import note, note_run, shop
from delayhub import Unique
from delayhub.celery_support.request import OurRequest

#: Schedules that run each second; most of their occurrences come while the one before still runs.
SCHEDULED = 3

app = shop(
    "unique",
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


@task_postrun.connect(weak=False)
def note_done(*, task: celery.Task, **_: object) -> None:
    """Its result is stored, and what follows it is sent: from now on a kill takes nothing of it."""
    note("runs", "done", task.name, "-", task.request.id, task.request.retries, task.request.hostname)


class NotedRequest(OurRequest):
    """Writes down which worker is about to start a task, before it acknowledges that."""

    def on_accepted(self, pid: Any, time_accepted: float) -> None:
        """Called when the task is about to start."""
        note("runs", "accepted", self.task.name, "-", self.id, self.request_dict.get("retries") or 0, self.hostname)
        super().on_accepted(pid, time_accepted)


@app.task(name="unique.late", bind=True, unique=Unique(by=["key"]))
def late(self: celery.Task, key: str, seconds: float) -> int:
    """Comes back where its worker is killed."""
    note_run(self, key, seconds)
    return 1


@app.task(name="unique.early", bind=True, unique=Unique(by=["key"]), acks_late=False, Request=NotedRequest)
def early(self: celery.Task, key: str, seconds: float) -> int:
    """Is lost where its worker is killed, as Celery has it."""
    note_run(self, key, seconds)
    return 1


@app.task(name="unique.retried", bind=True, unique=Unique(by=["key"]))
def retried(self: celery.Task, key: str, seconds: float) -> int:
    """Runs twice, under one key."""
    note_run(self, key, seconds)
    if not self.request.retries:
        raise self.retry(countdown=0.2)
    return 1


@app.task(name="unique.total")
def total(counts: list[int]) -> int:
    """The body of the chords."""
    return sum(counts)
