"""The worker's side of ``benchmarks/transport.py``: tasks that do nothing but count, in the process that runs them."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

import redis
from celery import Celery

import delayhub

app = Celery("bench_app", broker=os.environ["BENCH_BROKER"])
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=int(os.environ.get("BENCH_PREFETCH", "100")),
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options=json.loads(os.environ.get("BENCH_OPTIONS", "{}")),
)
delayhub.install(app)

_lock = threading.Lock()
_times: list[float] = []


def _report(expected: int, values: list[float]) -> None:
    """Tells the benchmark what it measured, once all tasks ran."""
    ledger = redis.Redis.from_url(os.environ["BENCH_LEDGER"])
    ledger.rpush("bench", json.dumps({"count": expected, "values": values}))
    ledger.close()


@app.task
def noop(expected: int) -> None:
    """Counts; the last one reports the times of the first and the last."""
    now = time.time()  # noqa: TID251  compared on one machine
    with _lock:
        _times.append(now)
        if len(_times) == expected:
            _report(expected, [min(_times), max(_times)])
            _times.clear()


@app.task
def stamp(due: float, expected: int) -> None:
    """Notes how late it runs, in seconds; the last one reports all."""
    late = time.time() - due  # noqa: TID251  compared on one machine
    with _lock:
        _times.append(late)
        if len(_times) == expected:
            _report(expected, list(_times))
            _times.clear()


def publish(task: Any, count: int, *, args: Any, eta: Any = None) -> None:
    """That many calls of a task, a batch at a time; ``args`` and ``eta`` tell those of each by its number."""
    with app.producer_or_acquire() as producer, producer.batch(max_size=500):
        for number in range(count):
            task.apply_async(args=args(number), eta=eta(number) if eta else None, producer=producer)
