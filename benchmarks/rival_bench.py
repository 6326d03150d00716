"""Rounds of peers, in which each is measured on an empty server: what ``rivals`` consists of."""

from __future__ import annotations

import contextlib
import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence

import redis

from benchmarks.cores import resident, used_by_server
from benchmarks.figures import percentile
from benchmarks.rival_processes import PATIENCE_SECONDS, POOLS, PeerProcesses

#: What a round consists of; each pool is a part of its own, and of lateness each pool with so many tasks a second.
PARTS = ("publish", *POOLS, "late-threads-200", "idle")
#: What is measured only where it is asked for. Of kombu's solo worker, which starts some 20 tasks with an eta a second,
#: lateness is the length of the measurement.
MORE_PARTS = ("burst", "late-threads-2000", "late-solo-200", "late-solo-2000")
#: Tasks with an eta that are published in a second, cautiously, and that kombu's worker, which fetches them all before
#: they are due, has fetched in a second. So long before the instant it is begun.
READY_PER_SECOND = 500
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
        #: In ms, by pool and tasks a second.
        self.late_ms: dict[str, list[float]] = {}

    def run(self, parts: Sequence[str]) -> dict[str, float]:
        """The figures of some parts of a round."""
        for part in parts:
            if part == "publish":
                self.publishing("one", "publish")
                self.publishing("many", "publish many")
                self.publishing("eta", "publish with an eta")
            elif part.startswith("late-"):
                self.lateness(*part.split("-")[1:])
            elif part in ("burst", "idle"):
                getattr(self, part)()
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
            server, memory = used_by_server(self.processes.client), self.processes.used_memory()
            found = publish()
            server, memory = used_by_server(self.processes.client) - server, self.processes.used_memory() - memory
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

    def lateness(self, pool: str, per_second: str) -> None:
        """How late tasks are that are due one after the other, so many a second."""
        self.processes.empty()
        count, place = int(self.seconds * float(per_second)), f"{pool} {per_second}/s"
        with self.processes.worker(pool) as process:
            start = time.time_ns() / 1e9 + count / READY_PER_SECOND + 1
            with self.processes.publisher("eta", count=count, start=start, per_second=float(per_second)) as publish:
                publish()
            self.processes.wait(process, count)
        late = self.late_ms[place] = sorted((at - due) * 1000 for _, at, due in self.processes.runs())
        for name, share in {"p50": 0.5, "p99": 0.99, "max": 1.0}.items():
            self.figures[f"lateness {place}, {name}, ms"] = percentile(late, share)
        self.figures["earliest, ms"] = min(late[0], self.figures.get("earliest, ms", late[0]))

    def burst(self) -> None:
        """How long tasks take that are due at one instant, and what a worker keeps of them until then."""
        self.processes.empty()
        with self.processes.worker("threads") as process:
            rss, due = resident(process.pid), round(time.time_ns() / 1e9 + self.count / READY_PER_SECOND + 3, 3)
            with self.processes.publisher("many_eta", count=self.count, start=due) as publish:
                publish()
            time.sleep(max(0.0, due - time.time_ns() / 1e9 - 0.5))
            self.figures["worker MB for waiting tasks"] = (resident(process.pid) - rss) / 1e6
            self.processes.wait(process, self.count)
        ran = [run.at for run in self.processes.runs()]
        self.figures["burst, s"] = max(ran) - due
        self.figures["earliest, ms"] = min((min(ran) - due) * 1000, self.figures.get("earliest, ms", math.inf))

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
            rss, memory = resident(process.pid), self.processes.used_memory()
            with self.processes.publisher("many_eta", count=count, start=time.time_ns() / 1e9 + 86_400) as publish:
                found = publish()
            grown, steady = 0, time.monotonic()
            until = steady + PATIENCE_SECONDS
            while time.monotonic() < min(steady + 5, until):  # kombu's worker fetches them all
                time.sleep(0.5)
                if resident(process.pid) - rss > grown + 1_000_000:
                    grown, steady = resident(process.pid) - rss, time.monotonic()
        return {
            "messages": count,
            "published in s": round(found["seconds"], 1),
            "Redis MB": round((self.processes.used_memory() - memory) / 1e6, 1),
            "worker MB": round(grown / 1e6, 1),
        }


class Rounds:
    """What was measured of peers that take turns, so that the machine's drift meets all.

    Args:
        bench: what measures a peer, by its name; a new one each time.
        parts: of each peer's rounds.
    """

    def __init__(self, bench: Callable[[str], RivalBench], parts: Mapping[str, Sequence[str]], *, number: int) -> None:
        self.figures: dict[str, list[dict[str, float]]] = {name: [] for name in parts}
        #: Of all rounds, by peer, pool and tasks a second.
        self.late_ms: dict[str, list[float]] = {}
        for turn in range(number):
            for name, own in parts.items():
                one = bench(name)
                self.figures[name].append(one.run(own))
                for place, late in one.late_ms.items():
                    self.late_ms.setdefault(f"{name} {place}", []).extend(late)
                print(f"round {turn + 1} of {number}, {name}: {one.figures}", file=sys.stderr, flush=True)

    def of(self, name: str, figure: str) -> list[float]:
        """What rounds of a peer found for a figure; none where it is not measured there."""
        return [found[figure] for found in self.figures[name] if figure in found]

    def names(self) -> list[str]:
        """All figures, in their order."""
        return list(dict.fromkeys(name for rounds in self.figures.values() for found in rounds for name in found))

    def medians(self) -> dict[str, dict[str, float]]:
        """Of each peer, the medians of its rounds."""
        return {
            name: {
                each: round(statistics.median(self.of(name, each)), 3) for each in self.names() if self.of(name, each)
            }
            for name in self.figures
        }

    def lateness(self) -> dict[str, dict[str, float]]:
        """How late tasks of all rounds were, in ms, by peer, pool and tasks a second."""
        shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "worst": 1.0}
        return {
            place: {name: round(percentile(late, share), 2) for name, share in shares.items()}
            for place, late in self.late_ms.items()
        }
