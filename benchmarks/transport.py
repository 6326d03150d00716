"""Is ``delayhub://`` faster than kombu's own ``redis://``, and on time?

Question: ready throughput by pool, a burst due at one instant, lateness, publishing, idle commands, worker memory and
    Redis bytes, for both transports in one run: same worker, same pool, no-op tasks, taking turns.
Machine: whatever runs it; the broker and the producer share it. Compare the two within one run, not runs.
Command: make bench-transport
Result: one JSON line with the median of the rounds for each transport, and the ratio of the two.
Caveat: no persistence, no result backend, remote control and events off.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import redis

from delayhub.standalone.redis_server import RedisServer

HERE = Path(__file__).parent / "celery_app"
SCHEMES = ("redis", "delayhub")


def now() -> float:
    return time.time_ns() / 1e9


def moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


class TransportBench:
    """The measurements of one transport on an empty broker."""

    def __init__(self, server: RedisServer, scheme: str, options: argparse.Namespace) -> None:
        self.options = options
        base = server.url.rsplit("/", 1)[0]
        self.client = redis.Redis.from_url(f"{base}/0")
        self.ledger = redis.Redis.from_url(f"{base}/1", socket_timeout=None)
        self.env = {
            **os.environ,
            "BENCH_BROKER": base.replace("redis://", f"{scheme}://") + "/0",
            "BENCH_LEDGER": f"{base}/1",
        }

    # ------------------------------------------------------------ the other processes

    @contextlib.contextmanager
    def worker(self, pool: str, *, concurrency: int, prefetch: int) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", "celery", "-A", "bench_app", "worker", "-P", pool, "-c", str(concurrency)]
        command += ["-l", "WARNING", "--without-mingle", "--without-gossip", "--without-heartbeat"]
        env = {**self.env, "BENCH_PREFETCH": str(prefetch // concurrency)}
        process = subprocess.Popen(
            command, cwd=HERE, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)

    def publish(self, code: str) -> Any:
        """Runs a piece of producer code in a process of its own; what it prints is the answer."""
        script = "import json, time\nfrom datetime import datetime, UTC\nfrom bench_app import *\n" + code
        done = subprocess.run([sys.executable, "-c", script], cwd=HERE, env=self.env, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.decode()[-2000:])
        return json.loads(done.stdout or b"null")

    def report(self, *, seconds: float) -> list[float]:
        """What the worker measured."""
        reply: Any = self.ledger.blpop(["bench"], timeout=seconds)
        if reply is None:
            raise TimeoutError(f"the worker did not finish within {seconds} s")
        values: list[float] = json.loads(reply[1])["values"]
        return values

    def wait_until_claimed(self) -> None:
        """Until a worker has connected and listens: its blocking command shows."""
        deadline = time.monotonic() + 30
        while not any(client["cmd"] in ("brpop", "blpop") for client in self.client.client_list()):
            if time.monotonic() > deadline:
                raise TimeoutError("no worker came")
            time.sleep(0.05)

    # ------------------------------------------------------------ the measurements

    def ready_per_second(self, pool: str) -> float:
        count = self.options.count
        self.publish(f"publish(noop, {count}, args=lambda n: [{count}])")
        with self.worker(pool, concurrency=1 if pool == "solo" else 4, prefetch=100):
            first, last = self.report(seconds=120)
        return count / (last - first)

    def burst_seconds(self) -> float:
        """From the instant at which all tasks are due to the end of the last one."""
        count = self.options.count
        due = now() + self.options.burst_lead
        with self.worker("threads", concurrency=4, prefetch=100):
            eta = f"lambda n: datetime.fromtimestamp({due!r}, UTC)"
            self.publish(f"publish(noop, {count}, args=lambda n: [{count}], eta={eta})")
            if now() > due:
                raise TimeoutError("publishing took longer than the lead; give --burst-lead more")
            _, last = self.report(seconds=120)
        return last - due

    def lateness_ms(self, per_second: int) -> dict[str, float]:
        count = int(per_second * self.options.seconds)
        with self.worker("threads", concurrency=4, prefetch=100):
            self.wait_until_claimed()
            start = now() + 2 + count / 1500
            due = f"{start!r} + n / {per_second}"
            self.publish(
                f"publish(stamp, {count}, args=lambda n: [{due}, {count}],"
                f" eta=lambda n: datetime.fromtimestamp({due}, UTC))"
            )
            late = [value * 1000 for value in self.report(seconds=120)]
        return {"min": min(late), "p50": percentile(late, 0.5), "p99": percentile(late, 0.99)}

    def publishes_per_second(self, kind: str) -> float:
        count = max(500, self.options.count // 8)
        work = {
            "plain": "[noop.apply_async(args=[0]) for _ in range(N)]",
            "eta": "[noop.apply_async(args=[0], eta=datetime(2040, 1, 1, tzinfo=UTC)) for _ in range(N)]",
            "batch": "publish(noop, N, args=lambda n: [0])",
        }[kind]
        seconds: float = self.publish(
            f"N = {count}\nnoop.apply_async(args=[0])\nbegin = time.perf_counter()\n{work}\n"
            "print(json.dumps(time.perf_counter() - begin))"
        )
        return count / seconds

    def idle_commands_per_second(self) -> float:
        with self.worker("solo", concurrency=1, prefetch=100):
            self.wait_until_claimed()
            time.sleep(2)  # the worker settles
            before = self._client_commands()
            time.sleep(self.options.seconds)
            return (self._client_commands() - before - 1) / self.options.seconds

    def worker_megabytes(self) -> float:
        """What a worker grows by while tasks wait for their time."""
        count = self.options.count
        with self.worker("solo", concurrency=1, prefetch=100) as process:
            self.wait_until_claimed()
            before = rss_megabytes(process.pid)
            self.publish(f"publish(noop, {count}, args=lambda n: [0], eta=lambda n: datetime(2040, 1, 1, tzinfo=UTC))")
            time.sleep(8)  # kombu's own transport hands all of them over in this time
            return rss_megabytes(process.pid) - before

    def bytes_per_message(self) -> float:
        count = self.options.count
        before = int(self.client.info("memory")["used_memory"])
        self.publish(f"publish(noop, {count}, args=lambda n: [0], eta=lambda n: datetime(2040, 1, 1, tzinfo=UTC))")
        return (int(self.client.info("memory")["used_memory"]) - before) / count

    def _client_commands(self) -> int:
        """Commands that clients sent; those that scripts ran are not counted."""
        stats = self.client.info("commandstats")
        return sum(
            value["calls"]
            for name, value in stats.items()
            if name.removeprefix("cmdstat_")
            in ("evalsha", "eval", "blpop", "brpop", "ping", "llen", "publish", "lpush")
        )


def rss_megabytes(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


MEASUREMENTS: dict[str, Callable[[TransportBench], Any]] = {
    "ready_solo_per_second": lambda bench: bench.ready_per_second("solo"),
    "ready_threads_per_second": lambda bench: bench.ready_per_second("threads"),
    "burst_seconds": lambda bench: bench.burst_seconds(),
    "lateness_ms_at_200_per_second": lambda bench: bench.lateness_ms(200),
    "lateness_ms_at_2000_per_second": lambda bench: bench.lateness_ms(2000),
    "publish_per_second": lambda bench: bench.publishes_per_second("plain"),
    "publish_eta_per_second": lambda bench: bench.publishes_per_second("eta"),
    "publish_batch_per_second": lambda bench: bench.publishes_per_second("batch"),
    "idle_commands_per_second": lambda bench: bench.idle_commands_per_second(),
    "worker_megabytes": lambda bench: bench.worker_megabytes(),
    "bytes_per_message": lambda bench: bench.bytes_per_message(),
}


def median(values: list[Any]) -> Any:
    if isinstance(values[0], dict):
        return {name: round(statistics.median(value[name] for value in values), 2) for name in values[0]}
    return round(statistics.median(values), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, help="tasks a measurement (default: 20000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the median counts (default: 5)")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of timed measurements (default: 5)")
    parser.add_argument(
        "--burst-lead", type=float, default=25.0, help="seconds from publishing to the burst (default: 25)"
    )
    parser.add_argument("--only", nargs="*", choices=MEASUREMENTS, default=list(MEASUREMENTS), metavar="NAME")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    options = parser.parse_args()
    figures: dict[str, dict[str, list[Any]]] = {name: {scheme: [] for scheme in SCHEMES} for name in options.only}
    with RedisServer(config={"databases": 2}) as server:
        for number in range(options.rounds):
            for name in options.only:
                for scheme in SCHEMES if number % 2 else SCHEMES[::-1]:
                    with server.client() as client:
                        client.flushall()
                    value = MEASUREMENTS[name](TransportBench(server, scheme, options))
                    figures[name][scheme].append(value)
                    if not options.quiet:
                        print(f"{number + 1}/{options.rounds} {name} {scheme}: {value}", file=sys.stderr, flush=True)
    result: dict[str, Any] = {"benchmark": "transport", "count": options.count, "rounds": options.rounds}
    for name, by_scheme in figures.items():
        medians = {scheme: median(values) for scheme, values in by_scheme.items()}
        result[name] = medians
        if not isinstance(medians["redis"], dict) and medians["redis"]:
            result[name]["ratio"] = round(medians["delayhub"] / medians["redis"], 3)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
