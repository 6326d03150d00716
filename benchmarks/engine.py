"""What does the engine cost by itself, without kombu?

Question: creates a second (one at a time, batched), claims with acknowledgement a second, lateness, bytes and idle
    commands, beside the price of one bare round trip (EVALSHA of ZADD and HSET) and beanstalkd where it is installed.
Machine: whatever runs it; the server shares it. Compare ratios within one run, not figures between runs.
Command: make bench NAME=engine
Result: one JSON line; medians of the rounds, which take turns so that the machine's drift meets all of them.
Caveat: one client connection, payloads of 500 bytes, no persistence.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import statistics
import subprocess
import time
from typing import Any

import redis

from benchmarks.figures import percentile, rate
from benchmarks.result import Result, option
from delayhub.engine import DelayQueue, Entry, Lease, TimerLane
from delayhub.local.redis_server import RedisServer

PAYLOAD = b"x" * 500
FAR = 4_000_000_000_000


def now_ms() -> float:
    return time.time_ns() / 1e6


class EngineBench:
    """One round of each measurement, on an empty database."""

    def __init__(self, client: redis.Redis, count: int) -> None:
        self.client = client
        self.count = count
        self.queue = DelayQueue(client, "bench")
        self.lane = TimerLane(client, "timers")

    def reference_one(self) -> float:
        sha = self.client.script_load(
            "redis.call('ZADD',KEYS[1],ARGV[1],ARGV[2]) redis.call('HSET',KEYS[2],ARGV[2],ARGV[3])"
        )
        count = self.count // 4
        return rate(
            lambda: [self.client.evalsha(sha, 2, "z", "h", FAR + n, f"id-{n:012d}", PAYLOAD) for n in range(count)],
            count,
        )

    def create_one(self) -> float:
        count = self.count // 4
        return rate(
            lambda: [self.queue.schedule([Entry(f"id-{n:012d}", FAR + n, PAYLOAD)]) for n in range(count)], count
        )

    def create_batched(self) -> float:
        return rate(
            lambda: self.queue.schedule([Entry(f"id-{n:012d}", FAR + n, PAYLOAD) for n in range(self.count)]),
            self.count,
        )

    def claim_and_acknowledge(self) -> float:
        self.queue.schedule([Entry(f"id-{n:012d}", 0, PAYLOAD) for n in range(self.count)])

        def drain() -> None:
            held: list[Lease] = []
            done = 0
            while claimed := self.queue.claim(100, acknowledged=held).entries:
                held = [self.queue.lease(entry.id, entry.token) for entry in claimed]
                done += len(held)
            assert done == self.count

        return rate(drain, self.count)

    def timers_armed(self) -> float:
        return rate(lambda: self.lane.ensure("q", [(f"{n:016d}", FAR + n) for n in range(self.count)]), self.count)

    def bytes_per_timer(self) -> float:
        before = int(self.client.info("memory")["used_memory"])
        self.timers_armed()
        return (int(self.client.info("memory")["used_memory"]) - before) / self.count

    def timers_claimed(self) -> float:
        past = int(now_ms()) - 1000
        self.lane.ensure("q", [(f"{n:016d}", past) for n in range(self.count)])

        def drain() -> None:
            held: list[Lease] = []
            while batches := self.lane.claim(100, acknowledged=held).batches:
                held = [Lease("timers", batch.queue, found, batch.token) for batch in batches for found in batch.ids]

        return rate(drain, self.count)

    def lateness(self, per_second: int, seconds: float) -> list[float]:
        """ms from due to claimed, for entries spread evenly; the consumer sleeps until the time to come back."""
        start = int(now_ms()) + 300
        count = int(per_second * seconds)
        self.queue.schedule([Entry(str(n), start + n * 1000 // per_second) for n in range(count)])
        due = {str(n): start + n * 1000 // per_second for n in range(count)}
        late: list[float] = []
        held: list[Lease] = []
        while len(late) < count:
            claim = self.queue.claim(100, acknowledged=held)
            at = now_ms()
            late += [at - due[entry.id] for entry in claim.entries]
            held = [self.queue.lease(entry.id, entry.token) for entry in claim.entries]
            if claim.come_back_ms and not claim.entries:
                time.sleep(max(0.0, (claim.come_back_ms - now_ms()) / 1000))
        return late


class Beanstalkd:
    """The peer: a client of its text protocol, as far as the benchmark needs it."""

    def __init__(self, port: int) -> None:
        deadline = time.monotonic() + 5
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port))
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.replies = self.socket.makefile("rb")

    def put(self, payload: bytes, delay: int) -> None:
        self.socket.sendall(b"put 0 %d 60 %d\r\n%s\r\n" % (delay, len(payload), payload))
        assert self.replies.readline().startswith(b"INSERTED")

    def consume(self) -> None:
        self.socket.sendall(b"reserve\r\n")
        _, job, size = self.replies.readline().split()
        self.replies.read(int(size) + 2)
        self.socket.sendall(b"delete %s\r\n" % job)
        assert self.replies.readline() == b"DELETED\r\n"


def beanstalkd_rates(count: int) -> dict[str, float]:
    """Creates and consumes a second of beanstalkd; empty where it is not installed."""
    program = shutil.which("beanstalkd")
    if program is None:
        return {}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([program, "-l", "127.0.0.1", "-p", str(port)])
    try:
        peer = Beanstalkd(port)
        created = rate(lambda: [peer.put(PAYLOAD, 100_000) for _ in range(count)], count)
        for _ in range(count):
            peer.put(PAYLOAD, 0)
        consumed = rate(lambda: [peer.consume() for _ in range(count)], count)
    finally:
        process.terminate()
        process.wait(10)
    return {"create_one": created, "consume": consumed}


def main(options: argparse.Namespace) -> Result:
    verbs = [
        "reference_one",
        "create_one",
        "create_batched",
        "claim_and_acknowledge",
        "timers_armed",
        "timers_claimed",
        "bytes_per_timer",
    ]
    figures: dict[str, list[float]] = {verb: [] for verb in verbs}
    peers: list[dict[str, float]] = []
    late: list[float] = []
    with RedisServer() as server, server.client() as client:
        bench = EngineBench(client, options.count)
        for _ in range(options.rounds):
            for verb in verbs:
                client.flushall()
                figures[verb].append(getattr(bench, verb)())
            client.flushall()
            late += bench.lateness(25, 4)
            peers.append(beanstalkd_rates(options.count // 4))
        version = client.info("server")["redis_version"]
    medians: dict[str, Any] = {verb: round(statistics.median(values), 1) for verb, values in figures.items()}
    result = {
        "redis": version,
        **medians,
        "ratio_to_reference": round(medians["create_one"] / medians["reference_one"], 3),
        "lateness_ms_at_25_per_second": {
            "min": round(min(late), 2),
            "p50": round(percentile(late, 0.5), 2),
            "p99": round(percentile(late, 0.99), 2),
        },
        "beanstalkd": {name: round(statistics.median(peer[name] for peer in peers)) for name in peers[0]} or None,
    }
    return Result(result)


OPTIONS = [
    option("--count", 20_000, "entries a measurement"),
    option("--rounds", 5, "rounds, of which the median counts"),
]
