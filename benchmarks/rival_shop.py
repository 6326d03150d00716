"""The app of ``rivals``, the same in each peer's environment: a task that notes when it ran.

``python -m benchmarks.rival_shop one|many|many_eta|eta COUNT START PER_SECOND`` publishes: it says "ready",
waits for a line, and says what it took. ``one``: one by one; ``many``: the quickest way that the peer has;
``many_eta``: so, due at START; ``eta``: one by one, due at START and after.
"""

from __future__ import annotations

import importlib
import json
import os
import struct
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
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
def work(number: int, due: float = 0.0) -> None:
    """Notes that it ran."""
    note(number, due)


# ---------------------------------------------------------------- the publisher

#: So that what is measured finds connections open and scripts known.
WARM_UP = {"queue": "warm"}


def one_by_one(count: int) -> None:
    """Each call by itself."""
    for number in range(count):
        work.apply_async((number,))


def many(count: int, eta: datetime | None = None) -> None:
    """All calls in the quickest way that the peer has."""
    options: dict[str, Any] = {"eta": eta} if eta else {}
    if PROGRAM == "potatoq":
        from potatoq import group  # type: ignore[import-not-found]  # it is in the peer's environment only

        for start in range(0, count, 500):
            calls = [work.s(number) for number in range(start, min(start + 500, count))]
            group([call.set(**options) for call in calls] if options else calls).apply_async()
    elif os.environ["RIVAL_BROKER"].startswith("delayhub"):
        import delayhub

        delayhub.publish_many(work, ((number,) for number in range(count)), **options)
    else:
        with app.pool.acquire(block=True) as connection, connection.Producer() as producer, producer.batch(100):
            for number in range(count):
                work.apply_async((number,), producer=producer, **options)


def due_one_after_the_other(count: int, start: float, per_second: float) -> None:
    """Each call by itself, due so many a second."""
    for number in range(count):
        due = round(start + number / per_second, 3)
        work.apply_async((number, due), eta=datetime.fromtimestamp(due, UTC))


def main() -> None:
    """Publishes what the command line says."""
    way, count, start, per_second = sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:5])
    ways: dict[str, Callable[[], None]] = {
        "one": lambda: one_by_one(count),
        "many": lambda: many(count),
        "many_eta": lambda: many(count, datetime.fromtimestamp(start, UTC)),
        "eta": lambda: due_one_after_the_other(count, start, per_second),
    }
    for _ in range(20):
        work.apply_async((0,), **WARM_UP)
    print("ready", flush=True)
    sys.stdin.readline()
    wall, cpu = time.perf_counter(), time.process_time()
    ways[way]()
    figures = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
