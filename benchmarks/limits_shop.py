"""The Celery app of ``make chaos NAME=limits``: tasks with limits, and others; each writes down when it started."""

from __future__ import annotations

import os
import time
from pathlib import Path

import celery

import delayhub
from benchmarks.appended import append_line
from delayhub import Unique

FOLDER = Path(os.environ["LIMITS_FOLDER"])

#: How long the task of which so many run at once takes.
REPORT_SECONDS = 0.3

app = celery.Celery("limits", broker=os.environ["LIMITS_BROKER"])
delayhub.install(app)
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=4,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={"lease_seconds": float(os.environ.get("LIMITS_LEASE", "3"))},
)


def note(name: str, number: int, at: float) -> None:
    """Appends a line to a file of the run."""
    append_line(FOLDER / name, f"{number} {at:.6f}")


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


#: Whether the tasks of which only so many run at once are acknowledged late; early, a kill loses what runs.
ACKS_LATE = os.environ.get("LIMITS_ACK") != "early"


@app.task(name="limits.report", acks_late=ACKS_LATE, max_in_flight=int(os.environ["LIMITS_AT_ONCE"]))
def report(number: int) -> None:
    """What may not run more often at once."""
    note("report", number, time.time())  # noqa: TID251  as above
    time.sleep(REPORT_SECONDS)
    note("reported", number, time.time())  # noqa: TID251  as above


@app.task(name="limits.keyed", flow_key_by="tenant", key_rate_limit=os.environ.get("LIMITS_KEY_RATE"))
def keyed(tenant: str, number: int) -> None:
    """What may not start more often for each tenant."""
    note(f"keyed-{tenant}", number, time.time())  # noqa: TID251  as above
    time.sleep(0.05)


@app.task(name="limits.tally", acks_late=ACKS_LATE, flow_key_by="tenant", key_max_in_flight=1)
def tally(tenant: str, number: int) -> None:
    """What may not run twice at once for a tenant."""
    note(f"tally-{tenant}", number, time.time())  # noqa: TID251  as above
    time.sleep(REPORT_SECONDS)
    note(f"tally-{tenant}ed", number, time.time())  # noqa: TID251  as above


@app.task(name="limits.single", bind=True, unique=Unique(by=["key"]))
def single(self: celery.Task, key: str, seconds: float) -> None:
    """What may not run twice at once with one key."""
    task_id = self.request.id
    append_line(FOLDER / "single", f"begin {task_id} {key} {time.time():.6f}")  # noqa: TID251  as above
    time.sleep(seconds)
    append_line(FOLDER / "single", f"end {task_id} {key} {time.time():.6f}")  # noqa: TID251  as above
