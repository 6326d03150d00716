"""One round of one peer of ``benchmarks/rivals.py``, on an empty server."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import redis

from benchmarks.figures import percentile
from benchmarks.rival_processes import PATIENCE_SECONDS, POOLS, PeerProcesses, resident

#: In the kill runs: after how many seconds the messages of a killed worker may run elsewhere.
LEASE_SECONDS = 5
#: What a round consists of; each pool is a part of its own.
PARTS = ("publish", *POOLS, "late", "idle")
#: The share of tasks after which consuming is measured: what comes before is the start of the worker.
BEGUN = 0.15


class RivalBench:
    """Measures one peer.

    Args:
        processes: of the peer.
        count: tasks of a measurement.
        seconds: how long lateness and idleness are measured.
    """

    def __init__(self, processes: PeerProcesses, *, count: int, seconds: float) -> None:
        self.processes = processes
        self.count, self.seconds = count, seconds
        self.figures: dict[str, float] = {}
        self.late_ms: list[float] = []

    def run(self, parts: Sequence[str]) -> dict[str, float]:
        """The figures of some parts of a round."""
        for part in parts:
            if part == "publish":
                self.publishing("one", "publish")
                self.publishing("many", "publish many")
                self.publishing("eta", "publish with an eta")
            elif part == "late":
                self.lateness()
            elif part == "idle":
                self.idle()
            else:
                self.consuming(part)
        return self.figures

    # ------------------------------------------------------------ measurements

    def publishing(self, way: str, name: str) -> None:
        """Rates, CPU and bytes of messages that nothing consumes."""
        self.processes.empty()
        with self.processes.publisher(
            way, count=self.count, start=time.time_ns() / 1e9 + 86_400, per_second=1e6
        ) as publish:
            server, memory = self.processes.server_seconds(), self.processes.used_memory()
            found = publish()
            server, memory = self.processes.server_seconds() - server, self.processes.used_memory() - memory
        self.figures[f"{name}, a second"] = self.count / found["seconds"]
        self.figures[f"{name}, client CPU us"] = found["cpu_seconds"] / self.count * 1e6
        self.figures[f"{name}, server CPU us"] = server / self.count * 1e6
        self.figures[f"{name}, bytes a message"] = memory / self.count

    def consuming(self, pool: str) -> None:
        """Rates and CPU of a worker that finds all tasks published."""
        self.processes.empty()
        with self.processes.publisher("many", count=self.count) as publish:
            publish()
        with self.processes.worker(pool) as process:
            begun = self.processes.wait(process, int(self.count * BEGUN))
            ended = self.processes.wait(process, self.count)
        tasks = ended.done - begun.done
        if not tasks:
            return  # so few that they were done at one look
        self.figures[f"{pool}, tasks a second"] = tasks / (ended.at - begun.at)
        self.figures[f"{pool}, worker CPU us"] = (ended.worker - begun.worker) / tasks * 1e6
        self.figures[f"{pool}, server CPU us"] = (ended.server - begun.server) / tasks * 1e6

    def lateness(self, per_second: float = 200.0) -> None:
        """How late tasks are that are due one after the other."""
        self.processes.empty()
        count = int(self.seconds * per_second)
        with self.processes.worker("threads") as process:
            start = time.time_ns() / 1e9 + count / 500 + 1
            with self.processes.publisher("eta", count=count, start=start, per_second=per_second) as publish:
                publish()
            self.processes.wait(process, count)
        self.late_ms = sorted((at - due) * 1000 for _, at, due in self.processes.runs())
        for name, share in {"p50": 0.5, "p99": 0.99, "max": 1.0}.items():
            self.figures[f"lateness {name}, ms"] = percentile(self.late_ms, share)
        self.figures["earliest, ms"] = self.late_ms[0]

    def idle(self) -> None:
        """Requests and CPU of a worker that has nothing to do."""
        self.processes.empty()
        with self.processes.worker("threads") as process:
            time.sleep(1.0)  # it has settled
            before, requests = self.processes.spent(process), 0
            with self.processes.client.monitor() as monitor:
                until = time.monotonic() + self.seconds
                with contextlib.suppress(redis.TimeoutError):
                    monitor.connection._sock.settimeout(self.seconds)
                    while time.monotonic() < until:
                        requests += monitor.next_command()["client_type"] != "lua"
            after = self.processes.spent(process)
        self.figures["idle, requests a second"] = requests / (after.at - before.at)
        self.figures["idle, worker CPU ms a second"] = (after.worker - before.worker) / (after.at - before.at) * 1e3

    def waiting(self, count: int) -> dict[str, float]:
        """What many messages with an eta take, in Redis and in a worker that is up meanwhile."""
        self.processes.empty()
        with self.processes.worker("threads") as process:
            time.sleep(1.0)
            rss, memory = resident(process), self.processes.used_memory()
            with self.processes.publisher("many_eta", count=count, start=time.time_ns() / 1e9 + 86_400) as publish:
                found = publish()
            grown, steady = 0, time.monotonic()
            until = steady + PATIENCE_SECONDS
            while time.monotonic() < min(steady + 5, until):  # kombu's worker fetches them all
                time.sleep(0.5)
                if resident(process) - rss > grown + 1_000_000:
                    grown, steady = resident(process) - rss, time.monotonic()
        return {
            "messages": count,
            "published in s": round(found["seconds"], 1),
            "Redis MB": round((self.processes.used_memory() - memory) / 1e6, 1),
            "worker MB": round(grown / 1e6, 1),
        }

    def kills(self, *, count: int, kills: int, patience: float) -> dict[str, float]:
        """What is lost, and what runs twice, when a worker is killed by -9 again and again; late acknowledgement."""
        self.processes.empty()
        started = time.monotonic()
        settings: dict[str, Any] = {"RIVAL_ACKS": "late"}
        if self.processes.peer.program == "potatoq":
            settings["RIVAL_SETTINGS"] = json.dumps({self.processes.peer.lease_option: LEASE_SECONDS})
        else:
            options = {**self.processes.peer.options, self.processes.peer.lease_option: LEASE_SECONDS}
            settings["RIVAL_SETTINGS"] = json.dumps({"broker_transport_options": options})
        with self.processes.publisher("many", count=count, each_seconds=0.01, **settings) as publish:
            publish()
        for _ in range(kills):
            with self.processes.worker("prefork", **settings) as process:
                self.processes.wait(
                    process, self.processes.done() + count // (2 * kills), patience=patience, is_exact=False
                )
                process.send_signal(signal.SIGSTOP)  # at once, however long the next lines take
        with self.processes.worker("prefork", **settings):
            runs, steady = 0, time.monotonic()
            while self.different() < count and time.monotonic() < steady + patience:
                time.sleep(0.2)
                if self.processes.done() > runs:
                    runs, steady = self.processes.done(), time.monotonic()
            time.sleep(2 * LEASE_SECONDS)  # what comes twice, comes now
        numbers = Counter(run.number for run in self.processes.runs())
        return {
            "tasks": count,
            "kills": kills,
            "lost": count - len(numbers),
            "ran twice": sum(runs > 1 for runs in numbers.values()),
            "seconds": round(time.monotonic() - started, 1),
        }

    def different(self) -> int:
        """How many tasks ran at least once."""
        return len({run.number for run in self.processes.runs()})
