"""What is lost, and what runs twice, when processes are killed, Redis is restarted and connections are cut?

Question: of 10 000 tasks, half of them with a countdown of up to 20 s, how many never run, and how many more than once,
    while producers and workers are killed with -9, Redis is killed and restarted (``appendfsync always``), connections
    are cut and scripts flushed?
Machine: whatever runs it; two workers (threads, prefork), one producer, one Redis.
Command: make chaos
Result: a table and one JSON line; exit code 0 only if nothing was lost, and no more ran twice than was leased when
    something was done to it.
Caveat: tasks are acknowledged late. A task acknowledged early, Celery's default, is lost with the worker it runs in.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from delayhub.engine import Counts, DelayQueue
from delayhub.standalone.redis_server import RedisServer

ROOT = Path(__file__).parents[1]
POOLS = ("threads", "prefork")
DRAIN_SECONDS = 120.0
POLL_SECONDS = 0.2


@dataclass
class Deeds:
    """What was done, and how much was leased each time: that much may run again."""

    done: Counter[str] = field(default_factory=Counter)
    leased: int = 0


class Chaos:
    """One run: processes, the server between them, and what is done to both."""

    def __init__(
        self,
        server: RedisServer,
        folder: Path,
        *,
        tasks: int,
        countdown: int,
        kills: int,
        restarts: int,
        seed: int,
    ) -> None:
        self.server = server
        self.folder = folder
        self.tasks = tasks
        self.chance = random.Random(seed)
        self.deeds = Deeds()
        self.plan = self._plan(kills, restarts)
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
            "CHAOS_FOLDER": str(folder),
            "CHAOS_COUNTDOWN_MS": str(countdown * 1000),
            "CHAOS_BROKER": server.url.replace("redis://", "delayhub://"),
        }
        self.workers = [self._worker(pool) for pool in POOLS]
        self.producer = self._producer()

    def run(self) -> None:
        """Does all that is planned while tasks are published, then waits until nothing is left."""
        while self.plan or self.producer.poll() is None:
            # The plan keeps pace with the producer, and ends with it.
            share = min(1.0, self.published() / self.tasks)
            while self.plan and self.plan[0][0] <= share:
                self.plan.pop(0)[1]()
            self._replace_the_fallen()
            if self.producer.poll() is not None and self.published() < self.tasks:
                self.producer = self._producer()
            time.sleep(POLL_SECONDS)
        self._wait_until_empty()

    def published(self) -> int:
        """Tasks that the broker said yes to."""
        return len(self.lines("published"))

    def lines(self, name: str) -> list[str]:
        """The lines of a file of the run."""
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def counts(self) -> Counts:
        """How many messages are where."""
        with self.server.client() as client:
            return DelayQueue(client, "celery").count()

    def stop(self) -> None:
        """Ends every process that was started."""
        for process in [*self.workers, self.producer]:
            kill_group(process)

    # ------------------------------------------------------------ what is done

    def _plan(self, kills: int, restarts: int) -> list[tuple[float, Callable[[], None]]]:
        deeds: list[Callable[[], None]] = []
        deeds += [self.kill_a_worker] * (kills - kills // 4) + [self.kill_the_producer] * (kills // 4)
        deeds += [self.restart_redis] * restarts
        deeds += [self.cut_connections] * restarts + [self.flush_scripts] * restarts
        self.chance.shuffle(deeds)
        return [((n + 1) / (len(deeds) + 1), deed) for n, deed in enumerate(deeds)]

    def kill_a_worker(self) -> None:
        """kill -9 to a worker with all its processes; another takes its place."""
        self._note("worker killed")
        which = self.chance.randrange(len(self.workers))
        kill_group(self.workers[which])
        self.workers[which] = self._worker(POOLS[which])

    def kill_the_producer(self) -> None:
        """kill -9 in the middle of a publish, perhaps."""
        self._note("producer killed")
        kill_group(self.producer)

    def restart_redis(self) -> None:
        """A power cut of Redis."""
        self._note("Redis killed")
        self.server.kill()
        self.server.start()

    def cut_connections(self) -> None:
        """All clients lose their connections, also those in the middle of a reply."""
        self._note("connections cut")
        with self.server.client() as client:
            client.client_kill_filter(_type="normal", skipme=True)
            client.client_kill_filter(_type="pubsub", skipme=True)

    def flush_scripts(self) -> None:
        """Redis forgets every script."""
        self._note("scripts flushed")
        with self.server.client() as client:
            client.script_flush()

    # ------------------------------------------------------------ private

    def _note(self, deed: str) -> None:
        self.deeds.done[deed] += 1
        if deed in {"worker killed", "Redis killed", "connections cut"}:
            self.deeds.leased += self.counts().leased

    def _replace_the_fallen(self) -> None:
        for which, worker in enumerate(self.workers):
            if worker.poll() is not None:
                self._note("worker ended by itself")
                self.workers[which] = self._worker(POOLS[which])

    def _wait_until_empty(self) -> None:
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline:
            self._replace_the_fallen()
            counts = self.counts()
            if not counts.waiting + counts.ready + counts.leased:
                return
            time.sleep(POLL_SECONDS)

    def _worker(self, pool: str) -> subprocess.Popen[bytes]:
        arguments = ["-A", "benchmarks.chaos_shop", "worker", "--pool", pool, "--concurrency", "2"]
        quiet = ["--without-mingle", "--without-gossip", "--loglevel", "WARNING"]
        return self._start("-m", "celery", *arguments, *quiet)

    def _producer(self) -> subprocess.Popen[bytes]:
        return self._start("-m", "benchmarks.chaos_shop", str(self.tasks))

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=self.environment,
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


def judge(chaos: Chaos) -> dict[str, object]:
    """The figures of a run."""
    published = set(chaos.lines("published"))
    ran = [line.split() for line in chaos.lines("ran")]
    times = Counter(number for number, _, _ in ran)
    first: dict[str, int] = {}
    for number, due, at in ran:
        first[number] = min(first.get(number, sys.maxsize), int(at) - int(due))
    left = chaos.counts()
    return {
        "benchmark": "chaos_transport",
        "tasks": len(published),
        "lost": len(published - set(times)),
        "dead": left.dead,
        "still there": left.waiting + left.ready + left.leased,
        "run more than once": sum(1 for count in times.values() if count > 1),
        "may run again": chaos.deeds.leased,
        "earliest ms": min(first.values(), default=0),
        "latest ms": max(first.values(), default=0),
        **chaos.deeds.done,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=10_000, help="tasks published (default: 10000)")
    parser.add_argument("--countdown", type=int, default=20, help="longest countdown in seconds (default: 20)")
    parser.add_argument("--kills", type=int, default=20, help="processes killed with -9 (default: 20)")
    parser.add_argument("--restarts", type=int, default=3, help="times Redis is killed and restarted (default: 3)")
    parser.add_argument("--seed", type=int, default=1, help="which order things are done in (default: 1)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="delayhub-chaos-") as folder:
        server = RedisServer(append_only=True, config={"appendfsync": "always"})
        with server:
            chaos = Chaos(
                server,
                Path(folder),
                tasks=options.tasks,
                countdown=options.countdown,
                kills=options.kills,
                restarts=options.restarts,
                seed=options.seed,
            )
            try:
                chaos.run()
                figures = judge(chaos)
            finally:
                chaos.stop()
            good = (
                figures["lost"] == figures["dead"] == figures["still there"] == 0
                and chaos.deeds.done["worker ended by itself"] == 0
                and chaos.deeds.leased >= int(str(figures["run more than once"]))
                and int(str(figures["earliest ms"])) >= 0
            )
            if not good:
                print((Path(folder) / "log").read_text(errors="replace")[-40000:], file=sys.stderr)
    for name, figure in figures.items():
        print(f"{name:24}{figure!s:>16}")
    print(json.dumps(figures))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
