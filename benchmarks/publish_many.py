"""How many tasks does ``publish_many`` publish in a second, beside ``apply_async`` one by one?

Question: tasks a second of both, with the arguments as text for people (as Celery's messages have them) and without.
Machine: whatever runs it; the producer and Redis share it.
Command: make bench NAME=publish
Result: one JSON line, medians; rounds take turns so that the machine's drift meets all.
Caveat: other work on the machine shows. Compare ratios within a run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from celery import Celery

import delayhub
from benchmarks.result import Result, option
from delayhub.engine import DelayQueue
from delayhub.local.redis_server import RedisServer


def main(asked: argparse.Namespace) -> Result:
    with RedisServer() as server, server.client() as client:
        app = Celery("shop", broker=server.url.replace("redis://", "delayhub://"), set_as_current=False, fixups=())
        delayhub.install(app)

        @app.task(name="shop.close", shared=False, ignore_result=True)
        def close(order: int) -> None:
            del order

        queue = DelayQueue(client, "celery")
        task: Any = close
        many, few = range(asked.tasks), range(max(1, asked.tasks // 10))
        ways: dict[str, Callable[[], object]] = {
            "one by one": lambda: [task.apply_async((number,)) for number in few],
            "publish_many": lambda: delayhub.publish_many(task, ((number,) for number in many)),
            "publish_many, reprs=False": lambda: delayhub.publish_many(task, ((n,) for n in many), reprs=False),
        }
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for way in ways.values():
            way()  # connected, and the scripts are known
            queue.purge()
        for _ in range(asked.rounds):
            for name, way in ways.items():
                started = time.perf_counter()
                way()
                rates[name].append(queue.count().ready / (time.perf_counter() - started))
                queue.purge()
        app.close()
    found: dict[str, Any] = {name: round(statistics.median(seen)) for name, seen in rates.items()}
    one = found["one by one"]
    found["times"] = {name: round(rate / one, 1) for name, rate in found.items()}
    return Result(found)


OPTIONS = [
    option("--tasks", 20_000, "tasks of a round; one by one a tenth of them"),
    option("--rounds", 5),
]
