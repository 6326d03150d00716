"""Count the calls of one path of a Celery task: ``python -m benchmarks.calls_tasks PATH BROKER``, which prints JSON.

The worker is a solo one, in this process; all tasks are published before it starts, and do nothing.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
from typing import Any, NamedTuple

import celery
from celery.worker import state

import delayhub
from benchmarks.call_counter import CallCounter, Calls

#: Tasks that run before counting begins, and those that are counted. Both are multiples of the prefetch count, so that
#: as many claims are counted in each run.
WARM_UP, COUNTED = 640, 1280


class Path(NamedTuple):
    """A path of a task.

    Args:
        task: options of the task.
        message: options of each call.
        prefetch: how many messages the worker fetches ahead.
        slack: the share by which the counts of two runs may differ, since they depend on when claims happen.
    """

    task: dict[str, Any] = {}
    message: dict[str, Any] = {}
    prefetch: int = 64
    slack: float = 0.0


PATHS = {
    "plain task": Path(),
    "plain task, prefetch 4": Path(prefetch=4, slack=math.inf),
    "late acknowledgement": Path({"acks_late": True}),
    "eta task": Path(message={"countdown": 0.001}),
    "limited task": Path({"rate_limit": "1000000/s"}, slack=0.15),
    "unique task": Path({"unique": delayhub.Unique(by=["number"])}, slack=0.15),
}


class Shop:
    """An app with one task, which looks at the counter when counting begins and ends."""

    def __init__(self, broker: str, path: Path) -> None:
        self.path, self.counter, self.seen = path, CallCounter(), list[Calls]()
        self.app = celery.Celery("calls", broker=broker)
        delayhub.install(self.app)
        self.app.conf.update(
            task_ignore_result=True,
            worker_prefetch_multiplier=path.prefetch,
            worker_enable_remote_control=False,
            worker_hijack_root_logger=False,
            worker_redirect_stdouts=False,
        )

        @self.app.task(name="calls.work", **path.task)
        def work(number: int) -> None:
            if number in (WARM_UP, WARM_UP + COUNTED):
                self.seen.append(self.counter.calls())
            if number == WARM_UP + COUNTED:
                state.should_stop = 0

        self.task: Any = work

    def publish(self) -> Calls:
        """Publish all tasks. Return the counts of one call of ``apply_async``."""
        self._send(0, WARM_UP)
        with self.counter:
            counted = self.counter.of(lambda: self._send(WARM_UP, WARM_UP + COUNTED))
        self._send(WARM_UP + COUNTED, WARM_UP + COUNTED + 1)
        return counted.per(COUNTED)

    def consume(self) -> Calls:
        """Run a worker until all tasks are done. Return the counts of one task."""
        worker = self.app.Worker(pool="solo", concurrency=1, loglevel="ERROR", without_gossip=True, quiet=True)
        with self.counter, contextlib.suppress(SystemExit):
            worker.start()
        begin, end = self.seen
        return (end - begin).per(COUNTED)

    def _send(self, begin: int, end: int) -> None:
        for number in range(begin, end):
            self.task.apply_async((number,), **self.path.message)


def main(words: list[str]) -> None:
    name, broker = words[1:]
    shop = Shop(broker, PATHS[name])
    publish = shop.publish()
    print(json.dumps({"publish": publish._asdict(), name: shop.consume()._asdict()}))


if __name__ == "__main__":
    main(sys.argv)
