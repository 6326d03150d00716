"""The Celery app of ``benchmarks/transport.py``: tasks that do nothing but are counted and timed."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time

import redis
from celery import Celery
from celery.signals import worker_ready

import delayhub

BROKER = os.environ["BENCH_BROKER"]
LEDGER = os.environ["BENCH_LEDGER"]
#: Tasks after which the worker writes down how it went.
TARGET = int(os.environ.get("BENCH_TARGET", "0"))

app = Celery("bench", broker=BROKER)
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=int(os.environ.get("BENCH_PREFETCH", "100")),
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_transport_options={"visibility_timeout": 3600},
)
delayhub.install(app)


@worker_ready.connect
def say_ready(**_: object) -> None:
    """Tells the benchmark that the worker takes tasks."""
    redis.Redis.from_url(LEDGER).rpush("ready", 1)


_numbers = itertools.count(1)
_late_ms: list[float] = []
_began: list[tuple[float, float]] = []
_writing = threading.Lock()


@app.task
def nothing(due: float = 0.0) -> None:
    """Does nothing; the last of ``TARGET`` calls writes the times down."""
    now = time.time_ns() / 1e9
    if not _began:
        _began.append((now, time.process_time()))
    if due:
        _late_ms.append((now - due) * 1000)
    if next(_numbers) >= TARGET:
        with _writing:
            began, cpu = _began[0]
            figures = {
                "count": TARGET,
                "seconds": now - began,
                "cpu_seconds": time.process_time() - cpu,
                "ended": now,
                "late_ms": sorted(_late_ms),
            }
            redis.Redis.from_url(LEDGER).rpush("figures", json.dumps(figures))
