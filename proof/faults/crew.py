"""Crew: a Redis server, two Celery workers and the tasks of one run.

Workers are forks of a process that has imported what they need, so that a run takes less than a second of CPU; kill -9
takes a fork as it takes any process. A worker whose clock is wrong is a process of its own, since what was imported
before has the right time.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import celery
import celery.apps.worker
import celery.bin.worker
import redis

import delayhub
from benchmarks.processes import words_of
from delayhub.local.redis_server import RedisServer
from proof.faults.figures import figures
from proof.faults.forks import forked, kill
from proof.faults.shop import now, publish, shop, warm, work
from proof.faults.small_disk import small_disk
from proof.faults.staff import Staff
from tests.healing import what_was_healed
from tests.repository import ROOT
from tests.tcp_proxy import TcpProxy

ITEMS, CANCELLED = 60, 6
#: When nothing has come of a task after so long, it is stuck or lost.
PATIENCE_SECONDS, LOOK_SECONDS = 45.0, 0.1


class Crew(Staff):
    """One run.

    Args:
        folder: for what workers write, and the server's files.
        broker: the scheme, ``delayhub`` or ``redis``.
        seed: decides when what happens.
        pool: of the workers.
        through_proxy: whether clients come through a proxy that can lose replies.
        disk: the size of the disk of the server, as ``4m``; by default it has all there is.
        fsync: when the server writes its file.
    """

    #: What workers run with.
    python = Path(sys.executable)

    def __init__(
        self, folder: Path, broker: str, *, seed: int, pool: str = "solo", through_proxy: bool = False,
        disk: str = "", fsync: str = "always",
    ) -> None:  # fmt: skip
        super().__init__(folder, seed=seed)
        self.pool, self.broker, self.disk = pool, broker, disk
        self.server = RedisServer(
            data_dir=folder / "redis", append_only=True,
            config={"appendfsync": fsync, "auto-aof-rewrite-percentage": 0},
        )  # fmt: skip
        self.through_proxy = through_proxy
        self.proxy: TcpProxy | None = None
        self.published: dict[int, float] = {}
        #: When a cancel was confirmed, by the task's number.
        self.cancelled: dict[int, float] = {}
        self.ids: dict[str, int] = {}
        #: The numbers of those that no broker could keep: its only copy was thrown away.
        self.may_be_lost: set[int] = set()
        self._asked = 0
        self._ending = contextlib.ExitStack()

    def __enter__(self) -> Self:
        try:
            self.url = self.start_servers()
            for _ in range(2):
                self.start_worker()
            if self.proxy:  # its threads come after the forks
                self._ending.enter_context(self.proxy)
            self.warm_up()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def start_servers(self) -> str:
        """The broker's URL."""
        if self.disk:
            self._ending.enter_context(small_disk(self.folder / "redis", self.disk))
        self._ending.enter_context(self.server)
        if self.through_proxy:
            self.proxy = TcpProxy(self.server.port)
        return f"{self.broker}://127.0.0.1:{self.proxy.port if self.proxy else self.server.port}/0"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            kill(worker)
        self._ending.close()

    def warm_up(self) -> None:
        """Waits until all workers take tasks, or it takes too long."""
        until = time.monotonic() + PATIENCE_SECONDS
        while len({words[0] for words in words_of(self.folder / "warm")}) < len(self.workers):
            if time.monotonic() > until:
                raise TimeoutError("not all workers take tasks")
            if not self.left():
                self.warm()
            time.sleep(LOOK_SECONDS)

    def start_worker(self) -> None:
        """One more worker, as a fork."""
        self.workers.append(forked(lambda: work(self.url, self.folder, self.pool), log=self.folder / "worker.log"))

    def start_wrong_worker(self) -> None:
        """One more worker, whose clock is an hour off."""
        self.start_worker_process(self.wrong_clock())
        self.warm_up()

    def start_worker_process(self, environment: Mapping[str, str]) -> None:
        """One more worker, as a process of its own."""
        command = [str(self.python), "-m", "proof.faults.shop", "work", self.url, str(self.folder), self.pool]
        with (self.folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                command, env=environment, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
            )  # fmt: skip
        self.workers.append(process.pid)

    def begin(self) -> None:
        """Publishes, while workers stand still: so most is to run when the fault comes, on a busy machine too."""
        with self.standing_still():
            self.publish()

    def publish(self, count: int = ITEMS) -> Collection[int]:
        """Publishes tasks, every other one for later; the numbers of those whose publish the broker has answered."""
        before = self.published.keys() | self.cancelled.keys()
        numbers = range(self._asked, self._asked + count)
        self._asked += count
        for number, due, task_id in self.publish_these(numbers):
            self.published[number], self.ids[task_id] = due, number
        return self.published.keys() - before

    def publish_these(self, numbers: range) -> Iterable[tuple[int, float, str]]:
        """Number, due time and id of those that were published."""
        return publish(self.app, numbers, self.chance)

    def warm(self) -> None:
        """Publishes tasks by which each worker says that it works."""
        warm(self.app)

    @cached_property
    def app(self) -> celery.Celery:
        """The app, to publish with."""
        return shop(self.url, self.folder)

    def cancel_some(self) -> None:
        """Cancels some of what waits; who cancels hears whether it was there. kombu has no such verb."""
        if self.broker != "delayhub":
            return
        some = self.chance.sample(sorted(self.ids), CANCELLED)
        with contextlib.suppress(redis.RedisError), self.queue() as queue:
            removed = queue.cancel(some)
            for task_id, count in zip(some, removed, strict=True):
                if count:
                    self.cancelled[self.ids[task_id]] = now()
                    del self.published[self.ids[task_id]]

    def wait_for_some(self) -> None:
        """Waits until a part of the tasks has run, by chance a twentieth to a third."""
        some = int(len(self.published) * self.chance.uniform(0.05, 0.3))
        until = time.monotonic() + PATIENCE_SECONDS
        while len(words_of(self.folder / "ran")) < some and time.monotonic() < until:
            time.sleep(0.01)

    def to_run(self) -> set[int]:
        """The numbers of those that have not run yet."""
        return self.published.keys() - {int(words[0]) for words in words_of(self.folder / "ran")}

    def judged(self) -> dict[str, Any]:
        """Waits until each task that may not be lost has run and nothing is left, or it takes too long; and counts."""
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until and (self.left() or self.to_run() - self.may_be_lost):
            self.tend()
            time.sleep(LOOK_SECONDS)
        return figures(
            self.published, [(int(number), float(at)) for number, _, at in words_of(self.folder / "ran")],
            cancelled=self.cancelled, left=self.left(), restarted=self.restarted, may_be_lost=self.may_be_lost,
            healed=self.healed() if self.broker == "delayhub" else None,
        )  # fmt: skip

    def left(self) -> int:
        """How many tasks the broker has."""
        if self.broker == "delayhub":
            with self.queue() as queue:
                counts = queue.count()
            return counts.waiting + counts.ready + counts.leased + counts.parked
        with self.server.client() as client:
            queued: Any = client.llen("celery")
            unacked: Any = client.hlen("unacked")
        return int(queued) + int(unacked)

    def healed(self) -> int:
        """How much had to be put right."""
        with self.server.client() as client:
            return sum(sum(what.values()) for what in what_was_healed(client).values())

    @contextlib.contextmanager
    def queue(self) -> Iterator[delayhub.DelayQueue]:
        """The tasks, as the engine sees them."""
        with self.server.client() as client:
            yield delayhub.DelayQueue(client, "celery")
