"""Tasks with limits, and others, for ``chaos_limits`` and ``chaos_outages``."""

from __future__ import annotations

import os
import time

import celery

from benchmarks.shop import note, note_run, shop
from delayhub import Unique

#: How long the tasks of which so many run at once take.
REPORT_SECONDS = 0.3
#: Whether the task of which only so many run at once is acknowledged late; early, a kill loses what runs.
ACKS_LATE = os.environ.get("LIMITS_ACK") != "early"

app = shop("limits")


@app.task(name="limits.mail", rate_limit=os.environ.get("LIMITS_RATE"))
def mail(word: int | str, seconds: float = 0.05) -> None:
    """What may not start more often."""
    note("mail", word)
    time.sleep(seconds)


@app.task(name="limits.work")
def work(word: int | str, seconds: float) -> None:
    """What has no limit."""
    note("work", word)
    time.sleep(seconds)


@app.task(name="limits.report", acks_late=ACKS_LATE, max_in_flight=int(os.environ.get("LIMITS_AT_ONCE", "2")))
def report(word: int | str, seconds: float = REPORT_SECONDS) -> None:
    """What may not run more often at once."""
    note("report", word)
    time.sleep(seconds)
    note("reported", word)


@app.task(name="limits.keyed", flow_key_by="tenant", key_rate_limit=os.environ.get("LIMITS_KEY_RATE"))
def keyed(tenant: str, number: int) -> None:
    """What may not start more often for each tenant."""
    note(f"keyed-{tenant}", number)
    time.sleep(0.05)


@app.task(name="limits.tally", acks_late=False, flow_key_by="tenant", key_max_in_flight=1)
def tally(tenant: str, number: int) -> None:
    """What may not run twice at once for a tenant; a kill loses what runs."""
    note(f"tally-{tenant}", number)
    time.sleep(REPORT_SECONDS)
    note(f"tally-{tenant}ed", number)


@app.task(name="limits.single", bind=True, unique=Unique(by=["key"]))
def single(self: celery.Task, key: str, seconds: float, word: str = "") -> None:
    """What may not run twice at once with one key."""
    note("single", word)
    note_run(self, key, seconds)
