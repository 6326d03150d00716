"""What does the transport cost, beside kombu's own Redis transport?

Question: tasks a second by pool, how long a burst of tasks due at one instant takes, lateness, publishes a second (one
    by one, with an eta, in batches), requests of an idle worker, memory of the worker and of Redis for waiting tasks.
    And what lateness looks like: a second mode in its distribution has a cause, which a median and a p99 hide.
Machine: whatever runs it; the worker on one core, Redis and the producer on the last where there are several.
    Compare ratios within one run, not figures between runs.
Command: make bench NAME=transport
Result: a table, a sketch of each distribution of lateness over all rounds, and one JSON line; medians of the rounds,
    in which both transports take turns so that the machine's drift meets both. The exit code is 1 where the lateness
    of delayhub:// has more than one mode.
Caveat: tasks that do nothing, Redis without persistence, one worker, Celery's default of early acknowledgement.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import redis

from benchmarks.children import run_main
from benchmarks.distribution import ENOUGH, Distribution
from benchmarks.figures import rate
from delayhub.local.redis_server import RedisServer

ROOT = Path(__file__).parents[1]
TRANSPORTS = ("redis", "delayhub")
POOLS = ("solo", "threads")
#: Pools and tasks a second of which lateness is measured. With the solo pool, kombu's worker starts about 20 tasks with
#: an eta a second here: its lateness is the length of the measurement.
LATENESS = {
    "redis": [("threads", 200), ("threads", 2000)],
    "delayhub": [("solo", 200), ("solo", 2000), ("threads", 200), ("threads", 2000)],
}
PATIENCE_SECONDS = 180.0
CORES = sorted(os.sched_getaffinity(0))
WORKER_CORE, OTHER_CORE = CORES[0], CORES[-1]
#: Tasks with an eta that are published in a second, cautiously, and that kombu's worker, which fetches them all before
#: they are due, has fetched in a second. So long before the instant it is begun.
READY_PER_SECOND = {"delayhub": 1500, "redis": 600}


class TransportBench:
    """One round of one transport, on an empty server.

    Args:
        scheme: ``redis`` or ``delayhub``.
        server: the Redis server.
        count: tasks of a throughput measurement.
        seconds: how long lateness and idleness are measured.
    """

    def __init__(self, scheme: str, server: RedisServer, *, count: int, seconds: float, log: Path) -> None:
        self.server = server
        self.scheme = scheme
        self.ready_per_second = READY_PER_SECOND[scheme]
        self.count = count
        self.seconds = seconds
        self.log = log
        url = server.url.rsplit("/", 1)[0]
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
            "BENCH_BROKER": f"{url.replace('redis', scheme)}/0",
            "BENCH_LEDGER": f"{url}/1",
        }
        self.ledger = redis.Redis.from_url(f"{url}/1", socket_timeout=None)
        self.figures: dict[str, float] = {}
        #: In ms, by pool and tasks a second.
        self.late_ms: dict[tuple[str, int], list[float]] = {}

    def run(self) -> dict[str, float]:
        """All figures of the round."""
        with self._producer() as shop:
            self._publish_rates(shop)
            for pool in POOLS:
                self._ready(shop, pool)
            self._burst(shop)
            for pool, per_second in LATENESS[self.scheme]:
                self._lateness(shop, pool, per_second)
            self._idle()
        self.ledger.close()
        return self.figures

    # ------------------------------------------------------------ measurements

    def _publish_rates(self, shop: Any) -> None:
        count = self.count // 4
        far = datetime.fromtimestamp(now() + 86_400, UTC)
        self._flush()
        with shop.app.pool.acquire(block=True) as connection, connection.Producer() as producer:
            self.figures["publish_per_second"] = rate(
                lambda: [shop.nothing.apply_async(producer=producer) for _ in range(count)], count
            )
            self._flush()
            before = self._used_memory()
            self.figures["publish_eta_per_second"] = rate(
                lambda: [shop.nothing.apply_async(eta=far, producer=producer) for _ in range(count)], count
            )
            self.figures["redis_bytes_per_waiting_task"] = (self._used_memory() - before) / count
            self._flush()

            def batch() -> None:
                with producer.batch(max_size=100):
                    for _ in range(count):
                        shop.nothing.apply_async(producer=producer)

            self.figures["publish_batched_per_second"] = rate(batch, count)

    def _ready(self, shop: Any, pool: str) -> None:
        self._flush()
        self._publish(shop, [{} for _ in range(self.count)])
        with self._worker(pool, self.count):
            found = self._result()
        self.figures[f"{pool}_tasks_per_second"] = found["count"] / found["seconds"]
        self.figures[f"{pool}_worker_cpu_us_per_task"] = found["cpu_seconds"] / found["count"] * 1e6

    def _burst(self, shop: Any) -> None:
        self._flush()
        with self._worker("threads", self.count) as process:
            rss = resident_bytes(process.pid)
            due = now() + self.count / self.ready_per_second + 3
            self._publish(shop, [due_at(due)] * self.count)
            time.sleep(max(0.0, due - now() - 0.5))
            self.figures["worker_rss_mb_for_waiting_tasks"] = (resident_bytes(process.pid) - rss) / 1e6
            found = self._result()
        self.figures["burst_seconds"] = found["ended"] - due
        self.figures["earliest_ms"] = found["late_ms"][0]

    def _lateness(self, shop: Any, pool: str, per_second: int) -> None:
        self._flush()
        count = int(per_second * self.seconds)
        with self._worker(pool, count):
            start = now() + count / self.ready_per_second + 1
            self._publish(shop, [due_at(start + n / per_second) for n in range(count)])
            late = self._result()["late_ms"]
        self.late_ms[pool, per_second] = late
        found = Distribution(late).figures()
        for name in ("p50", "p99"):
            self.figures[f"{pool}_late_{name}_ms_at_{per_second}"] = found[name]
        self.figures["earliest_ms"] = min(self.figures["earliest_ms"], late[0])

    def _idle(self) -> None:
        self._flush()
        with self._worker("solo", 1), self.server.client() as client:
            time.sleep(1.0)  # it has settled
            requests = 0
            with client.monitor() as monitor:
                until = time.monotonic() + self.seconds
                with contextlib.suppress(redis.TimeoutError):
                    monitor.connection._sock.settimeout(self.seconds)
                    while time.monotonic() < until:
                        requests += monitor.next_command()["client_type"] != "lua"
        self.figures["idle_requests_per_second"] = requests / self.seconds

    # ------------------------------------------------------------ parts

    def _publish(self, shop: Any, options: list[dict[str, Any]]) -> None:
        with shop.app.pool.acquire(block=True) as connection, connection.Producer() as producer, producer.batch(100):
            for option in options:
                shop.nothing.apply_async(producer=producer, **option)

    @contextlib.contextmanager
    def _producer(self) -> Iterator[Any]:
        os.environ.update(self.environment)
        shop = importlib.reload(importlib.import_module("benchmarks.bench_shop"))
        yield shop
        shop.app.close()

    @contextlib.contextmanager
    def _worker(self, pool: str, target: int) -> Iterator[subprocess.Popen[bytes]]:
        threads = 1 if pool == "solo" else 4
        environment = {**self.environment, "BENCH_TARGET": str(target), "BENCH_PREFETCH": str(100 // threads)}
        quiet = ["--without-mingle", "--without-gossip", "--without-heartbeat", "--loglevel", "ERROR"]
        command = ["-m", "celery", "-A", "benchmarks.bench_shop", "worker", "-P", pool, "-c", str(threads), *quiet]
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(process.pid, {WORKER_CORE})
            if self.ledger.blpop(["ready"], timeout=30) is None:
                raise RuntimeError(f"the worker did not start:\n{self.log.read_text(errors='replace')[-3000:]}")
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _result(self) -> dict[str, Any]:
        answer: Any = self.ledger.blpop(["figures"], timeout=PATIENCE_SECONDS)
        if answer is None:
            raise TimeoutError(f"the worker did not finish within {PATIENCE_SECONDS:.0f} s")
        found: dict[str, Any] = json.loads(answer[1])
        return found

    def _flush(self) -> None:
        with self.server.client() as client:
            client.flushall()

    def _used_memory(self) -> int:
        with self.server.client() as client:
            return int(client.info("memory")["used_memory"])


def now() -> float:
    """Unix time in seconds; the worker compares on the same machine."""
    return time.time_ns() / 1e9


def due_at(moment: float) -> dict[str, Any]:
    """The options of a call that is due at a moment, which the task is told too; transports keep ms."""
    moment = round(moment, 3)
    return {"eta": datetime.fromtimestamp(moment, UTC), "args": [moment]}


def resident_bytes(pid: int) -> int:
    """The memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def lateness(late_ms: dict[tuple[str, str, int], list[float]]) -> tuple[dict[str, Any], list[str]]:
    """Prints what lateness looks like, by transport, pool and tasks a second; the figures, and what is wrong."""
    figures: dict[str, Any] = {}
    wrong: list[str] = []
    for (scheme, pool, per_second), times in late_ms.items():
        name = f"{scheme} {pool} {per_second}/s"
        found = Distribution(times)
        modes = found.modes() if len(times) >= ENOUGH else []
        figures[name] = {**found.figures(), "modes": [mode._asdict() for mode in modes]}
        print(f"\nlateness, {name}, ms: {', '.join(f'{key} {value:g}' for key, value in found.figures().items())}")
        print(f"modes: {'; '.join(map(str, modes)) or f'{len(times)} times are too few to look for them'}")
        print(found.sketch())
        if scheme == "delayhub" and len(modes) > 1:
            wrong.append(f"the lateness of {name} has {len(modes)} modes: {'; '.join(map(str, modes))}")
    return figures, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, help="tasks a measurement (default: 20000)")
    parser.add_argument("--seconds", type=float, default=5.0, help="of lateness and idleness (default: 5)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the median counts (default: 5)")
    options = parser.parse_args()
    rounds: dict[str, list[dict[str, float]]] = {scheme: [] for scheme in TRANSPORTS}
    late_ms = {(scheme, *place): list[float]() for scheme in TRANSPORTS for place in LATENESS[scheme]}
    with RedisServer() as server, tempfile.TemporaryDirectory(prefix="delayhub-bench-") as folder:
        os.sched_setaffinity(0, {OTHER_CORE})
        if server.pid is not None:
            os.sched_setaffinity(server.pid, {OTHER_CORE})
        for number in range(options.rounds):
            for scheme in TRANSPORTS:
                log = Path(folder) / "worker.log"
                bench = TransportBench(scheme, server, count=options.count, seconds=options.seconds, log=log)
                rounds[scheme].append(bench.run())
                for (pool, per_second), times in bench.late_ms.items():
                    late_ms[scheme, pool, per_second] += times
                found = ", ".join(f"{name} {value:.4g}" for name, value in rounds[scheme][-1].items())
                print(f"round {number + 1} of {options.rounds}, {scheme}: {found}", file=sys.stderr, flush=True)
        with server.client() as client:
            version = client.info("server")["redis_version"]
    medians = {
        scheme: {name: round(statistics.median(figures[name] for figures in found), 3) for name in found[0]}
        for scheme, found in rounds.items()
    }
    print(f"{'':36}{'redis':>14}{'delayhub':>14}{'ratio':>10}")
    for name, ours in medians["delayhub"].items():
        theirs = medians["redis"].get(name, math.nan)
        print(f"{name:36}{theirs:14.2f}{ours:14.2f}{ours / theirs if theirs else math.nan:10.2f}")
    distributions, wrong = lateness(late_ms)
    result = {"benchmark": "transport", "redis_version": version, "count": options.count, "rounds": options.rounds}
    print(json.dumps({**result, **medians, "lateness": distributions}))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(run_main(main))
