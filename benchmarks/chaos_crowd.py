"""Two workers and a producer that may be killed at any moment, and what they wrote down."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from delayhub.engine import Counts

ROOT = Path(__file__).parents[1]
POOLS = ("threads", "prefork")
DRAIN_SECONDS = 120.0
POLL_SECONDS = 0.2


class Crowd:
    """The processes of one run.

    Args:
        folder: where they write, and their logs go.
        tasks: how many are published; every other one with a countdown.
        countdown: the longest countdown in seconds.
        brokers: URLs for the first worker, the second and the producer.
        options: transport options beside those of the app.
        count: tells how many messages are where.
        seed: decides who is killed, and in which order things are done.
        queues: what the tasks are published to, in turn.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tasks: int,
        countdown: int,
        brokers: Sequence[str],
        options: Mapping[str, Any],
        count: Callable[[], Counts],
        seed: int,
        queues: Sequence[str] = ("celery",),
    ) -> None:
        folder.mkdir()
        self.queues = queues
        self.folder = folder
        self.tasks = tasks
        self.countdown_ms = countdown * 1000
        self.brokers = brokers
        self.options = options
        self.count = count
        self.chance = random.Random(seed)
        #: What was done, and how much was leased each time: that much may run again.
        self.done: Counter[str] = Counter()
        self.leased = 0
        self.workers = [self._worker(which) for which in range(len(POOLS))]
        self.producer = self._producer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in [*self.workers, self.producer]:
            kill_group(process)

    @property
    def is_publishing(self) -> bool:
        """Whether the producer has not published everything yet."""
        return self.producer.poll() is None or self.published() < self.tasks

    def published(self) -> int:
        """Tasks that the broker said yes to."""
        return len(self.lines("published"))

    def lines(self, name: str) -> list[str]:
        """The lines of a file of the run."""
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    @property
    def log(self) -> str:
        """The end of what all processes said."""
        return (self.folder / "log").read_text(errors="replace")[-40000:]

    def note(self, deed: str, *, strands: bool = False) -> None:
        """Counts what is being done; where it strands leased messages, those too."""
        self.done[deed] += 1
        if strands:
            self.leased += self.count().leased

    def kill_a_worker(self) -> None:
        """kill -9 to a worker with all its processes; another takes its place."""
        self.note("worker killed", strands=True)
        which = self.chance.randrange(len(self.workers))
        kill_group(self.workers[which])
        self.workers[which] = self._worker(which)

    def kill_the_producer(self) -> None:
        """kill -9 in the middle of a publish, perhaps."""
        self.note("producer killed")
        kill_group(self.producer)

    def tend(self) -> None:
        """Puts others in the place of those that ended."""
        for which, worker in enumerate(self.workers):
            if worker.poll() is not None:
                self.note("worker ended by itself", strands=True)
                self.workers[which] = self._worker(which)
        if self.producer.poll() is not None and self.published() < self.tasks:
            self.producer = self._producer()

    def wait_until_empty(self) -> None:
        """Returns when no message is left, or after a while."""
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline:
            self.tend()
            counts = self.count()
            if not counts.waiting + counts.ready + counts.leased:
                return
            time.sleep(POLL_SECONDS)

    def figures(self) -> dict[str, int]:
        """What became of the tasks."""
        published = set(self.lines("published"))
        ran = [line.split() for line in self.lines("ran")]
        times = Counter(number for number, _, _ in ran)
        first: dict[str, int] = {}
        for number, due, at in ran:
            first[number] = min(first.get(number, sys.maxsize), int(at) - int(due))
        left = self.count()
        return {
            "tasks": len(published),
            "lost": len(published - set(times)),
            "dead": left.dead,
            "still there": left.waiting + left.ready + left.leased,
            "run more than once": sum(1 for count in times.values() if count > 1),
            "leased at the deeds": self.leased,
            "earliest ms": min(first.values(), default=0),
            "latest ms": max(first.values(), default=0),
            "slowest publish ms": max(map(int, self.lines("took")), default=0),
            **self.done,
        }

    def _worker(self, which: int) -> subprocess.Popen[bytes]:
        arguments = ["-A", "benchmarks.chaos_shop", "worker", "--pool", POOLS[which], "--concurrency", "2"]
        arguments += ["--queues", ",".join(self.queues)]
        quiet = ["--without-mingle", "--without-gossip", "--loglevel", "WARNING"]
        return self._start("-m", "celery", *arguments, *quiet, broker=self.brokers[which])

    def _producer(self) -> subprocess.Popen[bytes]:
        return self._start("-m", "benchmarks.chaos_shop", str(self.tasks), broker=self.brokers[-1])

    def _start(self, *arguments: str, broker: str) -> subprocess.Popen[bytes]:
        own = {
            "CHAOS_FOLDER": str(self.folder),
            "CHAOS_COUNTDOWN_MS": str(self.countdown_ms),
            "CHAOS_BROKER": broker,
            "CHAOS_OPTIONS": json.dumps(self.options),
            "CHAOS_QUEUES": ",".join(self.queues),
        }
        kept = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env={**kept, **own},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """kill -9 to a process and its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
