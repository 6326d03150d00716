"""The app of ``benchmarks/rivals.py``, the same in each peer's environment: a task that notes when it ran."""

from __future__ import annotations

import importlib
import json
import os
import struct
import time
from typing import Any

PROGRAM = os.environ["RIVAL_PROGRAM"]
#: What one run of the task notes: its number, when it ran and when it was due, in Unix seconds.
RECORD = struct.Struct("<qdd")
#: The number of the record that says that the worker is ready.
READY = -1

library: Any = importlib.import_module(PROGRAM)
signals: Any = importlib.import_module(f"{PROGRAM}.signals")

app = library.Celery("rival", broker=os.environ["RIVAL_BROKER"])
app.conf.update(
    task_ignore_result=True,
    task_acks_late=os.environ.get("RIVAL_ACKS") == "late",
    task_reject_on_worker_lost=os.environ.get("RIVAL_ACKS") == "late",
    task_time_limit=None,
    worker_prefetch_multiplier=int(os.environ.get("RIVAL_PREFETCH", "25")),
    worker_max_tasks_per_child=None,
    worker_enable_remote_control=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_connection_retry_on_startup=True,
    **json.loads(os.environ.get("RIVAL_SETTINGS", "{}")),
)
if os.environ["RIVAL_BROKER"].startswith("delayhub"):
    importlib.import_module("delayhub").install(app)
elif os.environ["RIVAL_BROKER"].startswith("valkey"):
    importlib.import_module("celery_redis_plus")

_ledger = os.open(os.environ["RIVAL_LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def note(number: int, due: float = 0.0) -> None:
    """Adds a record to the ledger, which outlives a killed worker."""
    os.write(_ledger, RECORD.pack(number, time.time_ns() / 1e9, due))


@signals.worker_ready.connect
def say_ready(**_: object) -> None:
    """Notes that the worker takes tasks."""
    note(READY)


@app.task(name="rival.work")
def work(number: int, due: float = 0.0, seconds: float = 0.0) -> None:
    """Notes that it ran, at its end where it takes a while."""
    if seconds:
        time.sleep(seconds)
    note(number, due)
