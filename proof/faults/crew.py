"""Crew: a Redis server, two Celery workers and the tasks of one run.

Workers are forks of a process that has imported what they need, so that a run takes less than a second of CPU; kill -9
takes a fork as it takes any process. A worker whose clock is wrong is a process of its own, since what was imported
before has the right time.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import celery
import celery.apps.worker
import celery.bin.worker
import psutil
import redis

import delayhub
from benchmarks.processes import QUIET, append_line, words_of
from delayhub.celery_support import install
from delayhub.local.redis_server import RedisServer
from proof.faults.figures import figures
from proof.faults.forks import forked, has_ended, kill
from proof.faults.small_disk import small_disk
from tests.healing import what_was_healed
from tests.repository import ROOT
from tests.tcp_proxy import TcpProxy

#: Leases of DelayHub, and the visibility timeout of kombu: how long a lost worker's tasks may be missing.
LEASE_SECONDS = 3
#: Half of the tasks have a countdown, shorter than a lease, since kombu gives those again that outlast its own.
ITEMS, COUNTDOWN_SECONDS, TASK_SECONDS = 60, 1.5, 0.05
#: When nothing has come of a task after so long, it is stuck or lost.
CANCELLED = 6
PATIENCE_SECONDS, LOOK_SECONDS = 45.0, 0.1
OPTIONS: dict[str, dict[str, Any]] = {
    "delayhub": {"lease_seconds": LEASE_SECONDS},
    # Who publishes hears yes once a replica has the task, so that it outlives the master.
    "delayhub-cluster": {"lease_seconds": LEASE_SECONDS, "failover_seconds": 30, "wait_replicas": 1, "wait_seconds": 1},
    # Lost tasks are looked for every second; by itself kombu looks every 100 seconds.
    "redis": {"visibility_timeout": LEASE_SECONDS, "unacked_restore_interval": 1, "unacked_restore_throttle": 1},
}


def now() -> float:
    """Unix time, also where Python's own is wrong."""
    return time.clock_gettime(time.CLOCK_REALTIME)


def shop(url: str, folder: Path) -> celery.Celery:
    """The app: a task that writes down that it runs, and when it was due."""
    scheme = url.partition(":")[0]
    app = celery.Celery("faults", broker=url, set_as_current=False)
    if scheme.startswith("delayhub"):
        install.install(app)
    app.conf.update(
        broker_transport_options=OPTIONS[scheme], task_acks_late=True, task_reject_on_worker_lost=True,
        task_ignore_result=True, broker_connection_retry_on_startup=True, broker_connection_max_retries=None,
        worker_prefetch_multiplier=4, worker_cancel_long_running_tasks_on_connection_loss=False,
    )  # fmt: skip

    @app.task(name="faults.mark", shared=False)
    def mark(number: int, due: float) -> None:
        append_line(folder / "ran", number, due, now())
        time.sleep(TASK_SECONDS)

    @app.task(name="faults.warm", bind=True, shared=False)
    def warm(task: Any) -> None:
        append_line(folder / "warm", task.request.hostname)
        time.sleep(TASK_SECONDS)

    return app


class Crew:
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

    def __init__(
        self, folder: Path, broker: str, *, seed: int, pool: str = "solo", through_proxy: bool = False,
        disk: str = "", fsync: str = "always",
    ) -> None:  # fmt: skip
        self.folder, self.pool, self.broker, self.disk = folder, pool, broker, disk
        self.chance = random.Random(seed)
        self.server = RedisServer(
            data_dir=folder / "redis", append_only=True,
            config={"appendfsync": fsync, "auto-aof-rewrite-percentage": 0},
        )  # fmt: skip
        self.through_proxy = through_proxy
        self.proxy: TcpProxy | None = None
        self.workers: list[int] = []
        self.published: dict[int, float] = {}
        #: When a cancel was confirmed, by the task's number.
        self.cancelled: dict[int, float] = {}
        self.ids: dict[str, int] = {}
        self._asked = 0
        #: Workers that ended by themselves, and were started again, as a supervisor does.
        self.restarted = 0
        self._ending = contextlib.ExitStack()

    def __enter__(self) -> Self:
        try:
            self.url = self.start_servers()
            for _ in range(2):
                self.start_worker()
            if self.proxy:  # its threads come after the forks
                self._ending.enter_context(self.proxy)
            self.app = shop(self.url, self.folder)
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
                for _ in range(8):
                    self.app.tasks["faults.warm"].apply_async()
            time.sleep(LOOK_SECONDS)

    def start_worker(self) -> None:
        """One more worker, as a fork."""
        self.workers.append(forked(lambda: work(self.url, self.folder, self.pool), log=self.folder / "worker.log"))

    def start_wrong_worker(self, hours: float) -> None:
        """One more worker, whose clock is so much off."""
        shift = self.folder / "shift"
        shift.write_text(str(hours * 3600))
        environment = {
            **os.environ,
            "CLOCK_SHIFT_FILE": str(shift),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "tests/acceptance/skewed_clock"), str(ROOT)]),
        }
        command = [sys.executable, "-m", "proof.faults.crew", self.url, str(self.folder), self.pool]
        with (self.folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        self.workers.append(process.pid)

    def replace_worker(self) -> None:
        """A worker dies by kill -9, with its children, and another one takes its place."""
        kill(self.workers.pop(self.chance.randrange(len(self.workers))))
        self.start_worker()

    def tend(self) -> None:
        """Starts another worker for each that ended by itself."""
        for worker in [worker for worker in self.workers if has_ended(worker)]:
            self.workers.remove(worker)
            self.start_worker()
            self.restarted += 1

    def kill_a_child(self) -> None:
        """A child of a pool dies by kill -9."""
        children = psutil.Process(self.chance.choice(self.workers)).children()
        self.chance.choice(children).kill()

    def publish(self, count: int = ITEMS) -> None:
        """Publishes tasks, every other one for later. Only those count whose publish the broker has answered."""
        mark, first = self.app.tasks["faults.mark"], self._asked
        self._asked += count
        for number in range(first, self._asked):
            countdown = self.chance.uniform(0.2, COUNTDOWN_SECONDS) if number % 2 else 0.0
            due = now() + countdown
            with contextlib.suppress(Exception):  # kombu raises AttributeError, too, where a connection breaks
                policy = {"max_retries": 5, "interval_start": 0.1, "interval_step": 0.1}
                sent = mark.apply_async((number, due), countdown=countdown, retry=True, retry_policy=policy)
                self.published[number], self.ids[sent.id] = due, number

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

    def judged(self, *, expected_lost: bool = False) -> dict[str, Any]:
        """Waits until each task has run and nothing is left, or it takes too long; and counts.

        Args:
            expected_lost: whether what is not in Redis any more is not waited for.
        """
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            ran = {int(words[0]) for words in words_of(self.folder / "ran")}
            if not self.left() and (expected_lost or ran >= self.published.keys()):
                break
            self.tend()
            time.sleep(LOOK_SECONDS)
        return figures(
            self.published, [(int(number), float(at)) for number, _, at in words_of(self.folder / "ran")],
            cancelled=self.cancelled, left=self.left(), restarted=self.restarted,
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


def work(url: str, folder: Path, pool: str) -> None:
    """Works until it is killed."""
    words = ["worker", "-P", pool, "-c", "2", "-n", f"w{os.getpid()}@here", "-l", "WARNING"]
    shop(url, folder).worker_main([*words, *QUIET, "--without-heartbeat"])


if __name__ == "__main__":
    work(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
