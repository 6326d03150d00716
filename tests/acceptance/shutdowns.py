"""Workers that are stopped while they run tasks, and what each task's message came to."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from socket import gethostname
from typing import Any
from uuid import uuid4

import redis
from celery import Celery

import delayhub
from delayhub.engine import DelayQueue, Place
from delayhub.local.redis_server import RedisServer
from tests.acceptance.celery_worker import CeleryWorker
from tests.waiting import wait_until

ACKS = ("late", "early")
#: What a task does after its worker was told to stop. The first two run at that moment.
RUNNING = ("ends", "runs on")
NOT_STARTED = ("prefetched", "eta")
KINDS = (*RUNNING, *NOT_STARTED)


@dataclass(frozen=True, kw_only=True)
class How:
    """A way to stop a worker."""

    name: str
    signal: signal.Signals
    env: dict[str, str] = field(default_factory=dict)


SOFT_SECONDS = 3.0
ETA_SECONDS = 600
#: How long a worker has to end: its longest task, and what a busy machine takes.
END_SECONDS = 30.0

WARM = How(name="warm", signal=signal.SIGTERM)
SOFT = How(
    name="soft",
    signal=signal.SIGTERM,  # as a deploy sends it
    env={"REMAP_SIGTERM": "SIGQUIT", "SOFT_SECONDS": str(SOFT_SECONDS)},
)
COLD = How(name="cold", signal=signal.SIGQUIT)


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task that a worker has when it is stopped."""

    acks: str
    kind: str
    id: str = field(default_factory=lambda: str(uuid4()))


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a task: how often it started and ended, and where its message is (None: nowhere)."""

    starts: int
    ends: int
    place: str | None
    strikes: int = 0

    def __str__(self) -> str:
        if self.place in {"leased", "dead"} or self.strikes or max(self.starts, self.ends) > 1:
            return f"{self.place}, {self.starts} starts, {self.ends} ends, {self.strikes} strikes"
        if self.place is not None:
            return "done and waits" if self.ends else "waits"
        return "done" if self.ends else "lost"


class Shutdown:
    """One worker with tasks of its own on a queue of its own; it is told to stop once they run.

    Args:
        scheme: delayhub, or redis for Celery's own transport.
        running: the tasks that it runs then, each a way to acknowledge and a kind.
        env: more of the worker's environment.
        ends: how long tasks take that end within the seconds of a soft shutdown.
    """

    def __init__(
        self,
        server: RedisServer,
        *,
        scheme: str,
        pool: str,
        how: How,
        running: tuple[tuple[str, str], ...],
        folder: Path,
        env: dict[str, str] | None = None,
        ends: float = 1.5,
    ) -> None:
        self.scheme, self.pool, self.how = scheme, pool, how
        self.broker = f"{scheme}{server.url.removeprefix('redis')}"
        self.seconds = {"ends": ends, "runs on": 8.0, "prefetched": 0.1, "eta": 0.1}
        self.results = server.url.removesuffix("/0") + "/1"
        self.queue = f"{scheme}-{pool}-{how.name}-{uuid4().hex[:6]}"
        self.running = [Task(acks=acks, kind=kind) for acks, kind in running]
        self.tasks = [*self.running, *(Task(acks=acks, kind=kind) for kind, acks in product(NOT_STARTED, ACKS))]
        self.client = server.client()
        self.store = redis.Redis.from_url(self.results)
        own = {"BROKER_URL": self.broker, "RESULT_URL": self.results, "PREFETCH": "4"}
        plain = {"PLAIN": "1"} if scheme == "redis" else {}
        options = ("-Q", self.queue, "-c", str(len(running)), "--without-gossip")
        self.worker = CeleryWorker(
            {**own, **plain, **how.env, **(env or {})}, pool=pool, folder=folder, options=options
        )
        #: None as long as it runs: some of Celery's own never end.
        self.exit_code: int | None = None
        self._told_at = 0.0
        self.app = Celery("producer", broker=self.broker, set_as_current=False)
        if scheme == "delayhub":
            delayhub.install(self.app)

    def begin(self) -> None:
        """Publishes the tasks, and starts the worker."""
        for task in self.tasks:
            later = {"countdown": ETA_SECONDS} if task.kind == "eta" else {}
            name, seconds = f"proj.{task.acks}", self.seconds[task.kind]
            self.app.send_task(name, [seconds], task_id=task.id, queue=self.queue, **later)
        self.worker.__enter__()

    def stop(self) -> None:
        """Tells the worker to stop, once it runs its tasks and knows of that."""
        wait_until(
            lambda: self._started() or not self.worker.is_running,
            otherwise=lambda: f"{len(self.running)} running tasks: {self.worker.log}",
        )
        os.kill(self.worker.pid, self.how.signal)
        self._told_at = time.monotonic()

    def end(self) -> dict[Task, Outcome]:
        """What came of each task, when the worker has ended."""
        if self.worker.has_ended(max(0.0, self._told_at + END_SECONDS - time.monotonic())):
            self.exit_code = self.worker.exit_code()
        starts, ends, found = self._noted("start"), self._noted("end"), dict(self._places())
        return {
            task: Outcome(
                starts=starts.count(task.id),
                ends=ends.count(task.id),
                place=found.get(task.id, (None, 0))[0],
                strikes=found.get(task.id, (None, 0))[1],
            )
            for task in self.tasks
        }

    def close(self) -> None:
        """Kills the worker where it still runs."""
        self.worker.kill()
        self.app.close()
        self.client.close()
        self.store.close()

    def _started(self) -> bool:
        wanted = {task.id for task in self.running}
        return wanted <= set(self._noted("start")) and (self.pool != "prefork" or wanted <= self._active())

    def _active(self) -> set[str]:
        """What the worker knows to be running: its processes tell it a moment after."""
        name = f"{self.worker.name}@{gethostname()}"
        (answer,) = self.app.control.broadcast("active", destination=[name], reply=True, limit=1, timeout=30) or [{}]
        return {request["id"] for request in answer.get(name, [])}

    def _noted(self, event: str) -> list[str]:
        lines: Any = self.store.lrange(f"ledger:{event}", 0, -1)
        return [line.decode().split()[0] for line in lines]

    def _places(self) -> Iterator[tuple[str, tuple[str, int]]]:
        """The id of each message that is still on the broker, its place, and its strikes."""
        if self.scheme == "delayhub":
            queue = DelayQueue(self.client, self.queue)
            for place in Place:
                yield from ((one.id, (place.value, one.strikes)) for one in queue.list(place, limit=1000))
            return
        waiting: Any = self.client.lrange(self.queue, 0, -1)
        yield from ((json.loads(raw)["headers"]["id"], ("ready", 0)) for raw in waiting)
        unacked: Any = self.client.hvals("unacked")
        yield from ((json.loads(raw)[0]["headers"]["id"], ("leased", 0)) for raw in unacked)


def stop_all(shutdowns: list[Shutdown]) -> list[dict[Task, Outcome]]:
    """What came of the tasks of each; workers start one by one, and end while others start."""
    try:
        for each in shutdowns:
            each.begin()
            each.stop()
        return [each.end() for each in shutdowns]
    finally:
        for each in shutdowns:
            each.close()
