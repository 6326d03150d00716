"""Two workers and a producer that may be killed at any moment, and what they wrote down."""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from benchmarks.processes import Fleet, is_soon, kill_group, start, words_of
from benchmarks.result import judged
from delayhub.engine import Counts

POOLS = ("threads", "prefork")
#: How long the producer's share of all tasks is waited for, and what is left in the end.
PACE_SECONDS, DRAIN_SECONDS = 300.0, 120.0
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
        self.folder, self.tasks, self.count, self.chance = folder, tasks, count, random.Random(seed)
        #: What was done, and how much was leased each time: that much may run again.
        self.done: Counter[str] = Counter()
        self.leased = 0
        own = {"lease_seconds": 3, "socket_timeout": 10, **options}
        environment = {
            "SHOP_FOLDER": str(folder),
            "SHOP_CONF": json.dumps({"broker_transport_options": own}),
            "CHAOS_COUNTDOWN_MS": str(countdown * 1000),
            "CHAOS_QUEUES": ",".join(queues),
        }
        self.workers = [
            Fleet(
                folder,
                "benchmarks.chaos_shop",
                [f"-P {pool} -c 2 -Q {','.join(queues)} -l WARNING"],
                SHOP_BROKER=broker,
                **environment,
            )
            for pool, broker in zip(POOLS, brokers, strict=False)
        ]
        self._producer = {"SHOP_BROKER": brokers[-1], **environment}
        self.producer = self._started()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self.workers:
            worker.__exit__(*error)
        kill_group(self.producer)

    @property
    def is_publishing(self) -> bool:
        """Whether the producer has not published everything yet."""
        return self.producer.poll() is None or self.published() < self.tasks

    def published(self) -> int:
        """Tasks that the broker said yes to."""
        return len(words_of(self.folder / "published"))

    def note(self, deed: str, *, strands: bool = False) -> None:
        """Counts what is being done; where it strands leased messages, those too."""
        self.done[deed] += 1
        if strands:
            self.leased += self.count().leased

    def kill_a_worker(self) -> None:
        """kill -9 to a worker with all its processes; another takes its place."""
        self.note("worker killed", strands=True)
        self.chance.choice(self.workers).kill(0)

    def kill_the_producer(self) -> None:
        """kill -9 in the middle of a publish, perhaps."""
        self.note("producer killed")
        kill_group(self.producer)

    def tend(self) -> None:
        """Puts others in the place of those that ended."""
        for _ in range(sum(worker.tend() for worker in self.workers)):
            self.note("worker ended by itself", strands=True)
        if self.producer.poll() is not None and self.published() < self.tasks:
            self.producer = self._started()

    def carry_out(self, deeds: Sequence[tuple[float, Callable[[], None]]]) -> None:
        """Does each when that share of all tasks is published; returns when no message is left, or after a while."""
        for share, deed in deeds:
            self._tended_until(lambda share=share: self.published() >= share * self.tasks, PACE_SECONDS)
            deed()
        while self.is_publishing:
            self.tend()
            time.sleep(POLL_SECONDS)

        def is_empty() -> bool:
            counts = self.count()
            return not counts.waiting + counts.ready + counts.leased

        self._tended_until(is_empty, DRAIN_SECONDS)

    def judged(self, *, may_lose: bool) -> tuple[dict[str, int], bool]:
        """What became of the tasks, and whether it is as it must be; if not, it prints what the processes said last."""
        published = {number for (number,) in words_of(self.folder / "published")}
        ran = words_of(self.folder / "ran")
        times = Counter(number for number, _, _ in ran)
        first: dict[str, int] = {}
        for number, due, at in ran:
            first[number] = min(first.get(number, sys.maxsize), int(at) - int(due))
        left = self.count()
        found = {
            "tasks": len(published),
            "lost": len(published - set(times)),
            "dead": left.dead,
            "still there": left.waiting + left.ready + left.leased,
            "run more than once": sum(1 for count in times.values() if count > 1),
            "leased at the deeds": self.leased,
            "earliest ms": min(first.values(), default=0),
            "latest ms": max(first.values(), default=0),
            "slowest publish ms": max((int(ms) for (ms,) in words_of(self.folder / "took")), default=0),
            **self.done,
        }
        must_be_0 = ("dead", "still there", "worker ended by itself", *(() if may_lose else ("lost",)))
        good = bool(self.done) and found["earliest ms"] >= 0 and judged(found, none=must_be_0, some=("tasks",))
        if not good:
            for log in sorted(self.folder.glob("*.log")):
                print(log.read_text(errors="replace")[-20000:], file=sys.stderr)
        return found, good

    def _tended_until(self, fact: Callable[[], bool], seconds: float) -> None:
        def looked() -> bool:
            self.tend()
            return fact()

        is_soon(looked, within_seconds=seconds, look_seconds=POLL_SECONDS)

    def _started(self) -> Any:
        command = ["-m", "benchmarks.chaos_shop", str(self.tasks)]
        return start(command, log=self.folder / "producer.log", **self._producer)
