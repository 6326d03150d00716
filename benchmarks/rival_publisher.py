"""Publishes for ``benchmarks/rivals.py``, in a peer's environment: says "ready", waits for a line, says what it took.

python -m benchmarks.rival_publisher one|many|eta COUNT START PER_SECOND SECONDS

``one``: one by one; ``many``: the quickest way that the peer has; ``eta``: one by one, due at START and after.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from benchmarks import rival_shop
from benchmarks.rival_shop import PROGRAM, app

#: So that what is measured finds connections open and scripts known.
WARM_UP = {"queue": "warm"}
work: Any = rival_shop.work


def one_by_one(count: int, seconds: float) -> None:
    """Each call by itself."""
    for number in range(count):
        work.apply_async((number, 0.0, seconds))


def many(count: int, seconds: float, eta: datetime | None = None) -> None:
    """All calls in the quickest way that the peer has."""
    options: dict[str, Any] = {"eta": eta} if eta else {}
    if PROGRAM == "potatoq":
        from potatoq import group  # type: ignore[import-not-found]  # it is in the peer's environment only

        for start in range(0, count, 500):
            calls = [work.s(number, 0.0, seconds) for number in range(start, min(start + 500, count))]
            group([call.set(**options) for call in calls] if options else calls).apply_async()
    elif os.environ["RIVAL_BROKER"].startswith("delayhub"):
        import delayhub

        delayhub.publish_many(work, ((number, 0.0, seconds) for number in range(count)), **options)
    else:
        with app.pool.acquire(block=True) as connection, connection.Producer() as producer, producer.batch(100):
            for number in range(count):
                work.apply_async((number, 0.0, seconds), producer=producer, **options)


def due_one_after_the_other(count: int, start: float, per_second: float) -> None:
    """Each call by itself, due so many a second."""
    for number in range(count):
        due = round(start + number / per_second, 3)
        work.apply_async((number, due), eta=datetime.fromtimestamp(due, UTC))


def main() -> None:
    """Publishes what the command line says."""
    way, count, start, per_second, seconds = sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:6])
    ways: dict[str, Callable[[], None]] = {
        "one": lambda: one_by_one(count, seconds),
        "many": lambda: many(count, seconds),
        "many_eta": lambda: many(count, seconds, datetime.fromtimestamp(start, UTC)),
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
