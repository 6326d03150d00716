"""The Celery app of ``make chaos NAME=upgrade``, which workers and publishers of two releases run side by side.

It stands in a folder of its own there, with one of the two releases before it on the path; so it imports nothing else
of this project, and what only one release has, it looks for. The "release" may be kombu's own transport.
``python upgrade_shop.py NAME`` publishes until it is told to stop; with an option it does what that says.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import celery

import delayhub

FOLDER = Path(os.environ["UPGRADE_FOLDER"])
RELEASE = os.environ["UPGRADE_RELEASE"]
#: What is published in turn.
KINDS = ("plain", "later", "limited", "eta", "many", "limited", "urgent", "retried", "chain", "limited")
#: Entries of the beats: how often each occurs, in seconds.
ENTRIES = {"a": 1.0, "b": 1.5, "c": 2.0}

app = celery.Celery("upgrade", broker=os.environ["UPGRADE_BROKER"])
if RELEASE != "kombu":
    delayhub.install(app)
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=4,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={"lease_seconds": 3},
    beat_schedule={
        name: {"task": "upgrade.tick", "schedule": seconds, "args": [name]} for name, seconds in ENTRIES.items()
    },
)


def note(file: str, *words: object) -> None:
    """Appends a line to a file of the run, by one system call."""
    opened = os.open(FOLDER / file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(opened, (" ".join(map(str, words)) + "\n").encode())
    finally:
        os.close(opened)


def ran(task: Any, key: str, *, file: str = "ran") -> None:
    """Writes down that a task began: what, in which worker, of which release, and when."""
    now = time.time()  # noqa: TID251  one machine's clock, compared between its processes
    note(file, key, task.request.hostname, RELEASE, f"{now:.6f}")
    time.sleep(0.02)


@app.task(bind=True, name="upgrade.work")
def work(self: Any, key: str) -> None:
    """What has no limit."""
    ran(self, key)


@app.task(bind=True, name="upgrade.mail", rate_limit=os.environ.get("UPGRADE_RATE", "10/s"))
def mail(self: Any, key: str) -> None:
    """What may not start more often."""
    ran(self, key)


@app.task(bind=True, name="upgrade.again", max_retries=1)
def again(self: Any, key: str) -> None:
    """What works when it is tried again, a second later."""
    if not self.request.retries:
        ran(self, key, file="tried")
        raise self.retry(countdown=1)
    ran(self, key)


@app.task(bind=True, name="upgrade.tick")
def tick(self: Any, entry: str) -> None:
    """What the beats publish."""
    occurrence = (self.request.headers or {}).get("x-delayhub-occurrence") or self.request.id
    ran(self, f"tick:{entry}:{occurrence}")


def publish(kind: str, key: str) -> list[str]:
    """The keys of the tasks that were published."""
    match kind:
        case "later":
            work.apply_async((key,), countdown=1 + len(key) % 5)
        case "eta":
            work.apply_async((key,), eta=datetime.now(UTC) + timedelta(seconds=2))  # noqa: TID251  as users do
        case "limited":
            mail.apply_async((key,))
        case "urgent":
            work.apply_async((key,), priority=0)
        case "retried":
            again.apply_async((key,))
        case "chain":
            (work.si(f"{key}-1") | mail.si(f"{key}-2") | work.si(f"{key}-3")).apply_async()
            return [f"{key}-{number}" for number in (1, 2, 3)]
        case "many" if hasattr(delayhub, "publish_many"):
            keys = [f"{key}-{number}" for number in range(5)]
            delayhub.publish_many(work, [[one] for one in keys], countdown=1)
            return keys
        case _:
            work.apply_async((key,))
    return [key]


def main(name: str) -> None:
    """Publishes a task each PAUSE until the file ``stop`` is there; writes down what was published for good."""
    pause = float(os.environ["UPGRADE_PAUSE"])
    for number in count():
        if (FOLDER / f"stop-{name}").exists():
            return
        kind = KINDS[number % len(KINDS)]
        for key in publish(kind, f"{name}-{number}-{kind}"):
            note("published", key)
        time.sleep(pause)


def act(option: str) -> None:
    """What a person does on the way."""
    control: Any = app.control
    match option:
        case "--lift":
            control.rate_limit("upgrade.mail", 0)
        case "--import-ready":
            note("moved", "over", control.import_redis(ready_only=True).moved)
        case "--import":
            note("moved", "over", control.import_redis().moved)
        case "--export":
            found = control.export_redis()
            note("moved", "back", found.moved, found.in_hands)


if __name__ == "__main__":
    (act if sys.argv[1].startswith("--") else main)(sys.argv[1])
