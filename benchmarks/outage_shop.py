"""The Celery app of ``make chaos NAME=outages``: a plain task and one with each limit; results in the same Redis."""

from __future__ import annotations

import os
import time
from pathlib import Path

import celery

import delayhub
from benchmarks.appended import append_line
from delayhub import Unique

FOLDER = Path(os.environ["OUTAGE_FOLDER"])

app = celery.Celery("outage", broker=os.environ["OUTAGE_BROKER"], backend=os.environ.get("OUTAGE_RESULTS"))
delayhub.install(app)
app.conf.update(
    task_acks_late=os.environ["OUTAGE_ACK"] == "late",
    task_reject_on_worker_lost=True,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={"lease_seconds": 5.0},
)


def work(word: str, seconds: float) -> str:
    """Takes so long, and writes down that it began."""
    append_line(FOLDER / "began", word)
    time.sleep(seconds)
    return word


@app.task(name="outage.plain")
def plain(word: str, seconds: float) -> str:
    """What has no limit."""
    return work(word, seconds)


@app.task(name="outage.limited", rate_limit="20/s")
def limited(word: str, seconds: float) -> str:
    """What may not start more often."""
    return work(word, seconds)


@app.task(name="outage.placed", max_in_flight=1)
def placed(word: str, seconds: float) -> str:
    """What may not run twice at once."""
    return work(word, seconds)


@app.task(name="outage.single", unique=Unique(key="the only one"))
def single(word: str, seconds: float) -> str:
    """What is in the queue, or runs, once."""
    return work(word, seconds)


#: What a run publishes, in turn.
TASKS = (plain, limited, placed, single)
