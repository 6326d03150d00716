"""How long does one command of each verb hold Redis, with a million entries in the queue?

Question: the slowest command of each verb, in µs by Redis' own account (SLOWLOG), with as many waiting, ready, leased
    or dead entries as it could meet.
Machine: whatever runs it; one Redis without persistence.
Command: make bench NAME=million
Result: a table and one JSON line; exit code 0 only if no command took more than 10 ms.
Caveat: Redis counts wall time, so each verb has three tries of which the best counts: a busy machine may interrupt one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import redis
from kombu import Connection

from benchmarks.result import Result, option
from delayhub.engine import DelayQueue, Entry, Lease
from delayhub.local.redis_server import RedisServer
from delayhub.transport import register
from delayhub.transport.kombu_migration import KombuBroker

TRIES = 3
#: What is faster is not told apart; what a script calls is logged too, which costs time.
LEAST_US = 100
#: A try that took no longer needs no other.
ENOUGH_US = 5000
NEVER_MS = 4_000_000_000_000
BODY = '{"body": "W10=", "properties": {"delivery_tag": "t", "body_encoding": "base64"}, "headers": {"id": "x"}}'

#: Puts entries where a test wants them, 20 000 a call; this may take long, since it is not measured.
FILL = """
local place, base, score = ARGV[1], KEYS[1], tonumber(ARGV[4])
for n = ARGV[2], ARGV[3] do
  local id = string.format('%s%08d', place, n)
  local key = place == 'ready' and base .. ':ready:0' or base .. ':' .. place
  redis.call('ZADD', key, string.format('%d', score + n * (place == 'waiting' and 16 or 1)), id)
  redis.call('HSET', base .. ':payload', id, ARGV[5])
  if place == 'leased' then redis.call('HSET', base .. ':holder', id, '1:0:' .. n) end
  if place == 'dead' then redis.call('HSET', base .. ':reason', id, 'x') end
end
"""
SCORES = {"waiting": NEVER_MS * 16, "ready": 1, "leased": NEVER_MS, "dead": 1}


class Million:
    """A queue that is filled and measured."""

    def __init__(self, client: redis.Redis, url: str, size: int) -> None:
        self.client = client
        self.url = url
        self.size = size
        self.queue = DelayQueue(client, "big")
        self.figures: dict[str, int] = {}

    def fill(self, place: str, *, share: float = 1.0, score: int | None = None) -> None:
        """Puts so many entries in a place."""
        size = int(self.size * share)
        for start in range(0, size, 20_000):
            end = min(start + 20_000, size) - 1
            self.client.eval(FILL, 1, self.queue.keys.base, place, start, end, score or SCORES[place], BODY)

    def ids(self, place: str, start: float, count: int = 500) -> list[str]:
        """Ids of a place, from a share of it on."""
        first = int(self.size * start)
        return [f"{place}{n:08d}" for n in range(first, first + count)]

    def leases(self, start: float, count: int = 500) -> list[Lease]:
        """The leases of entries that were filled in as leased."""
        return [Lease("big", "big", name, 1) for name in self.ids("leased", start, count)]

    def measure(self, name: str, verb: Callable[[int], object], *, prepare: Callable[[], object] | None = None) -> None:
        """Notes the slowest command of a verb, the best of some tries.

        Each try is prepared, or the verb, which is told the try's number, takes other entries.
        """
        best = sys.maxsize
        for number in range(TRIES):
            if prepare:
                self.client.flushall()
                prepare()
            self.client.config_set("slowlog-log-slower-than", LEAST_US)
            self.client.slowlog_reset()
            verb(number)
            self.client.config_set("slowlog-log-slower-than", -1)
            found = [
                entry["duration"] for entry in self.client.slowlog_get(100_000) if b"CONFIG" not in entry["command"]
            ]
            best = min(best, max(found, default=LEAST_US))
            if best < ENOUGH_US:
                break
        self.figures[name] = best

    def run(self) -> None:
        """Measures all verbs."""
        queue = self.queue

        def waiting() -> None:
            self.client.flushall()
            self.fill("waiting")

        waiting()
        self.measure("schedule", lambda n: queue.schedule([Entry(f"new{n}.{i}", NEVER_MS + i) for i in range(500)]))
        self.measure(
            "schedule, taken ids", lambda n: queue.schedule([Entry(name) for name in self.ids("waiting", 0.5)])
        )
        self.measure("reschedule", lambda n: queue.reschedule(self.ids("waiting", 0.4), due_ms=NEVER_MS))
        self.measure("cancel", lambda n: queue.cancel(self.ids("waiting", 0.6 + n / 50), tombstone_ms=1000))
        self.measure("discard", lambda n: queue.discard(self.ids("waiting", 0.7 + n / 50)))
        self.measure("payloads", lambda n: queue.payloads(self.ids("waiting", 0.8)))
        self.measure("list, deep", lambda n: queue.list("waiting", offset=self.size // 2, limit=1000, payloads=True))
        self.measure("count", lambda n: queue.count())
        self.measure("purge, all waiting", lambda n: queue.purge(), prepare=waiting)
        self.measure("delete, all waiting", lambda n: queue.delete(), prepare=waiting)

        due = self.prepare("waiting", score=16)
        self.measure("claim 1 000, all due at once", lambda n: queue.claim(1000), prepare=due)
        self.measure("claim 1 000, all ready", lambda n: queue.claim(1000), prepare=self.prepare("ready"))

        held = self.prepare("leased")
        self.measure("extend", lambda n: queue.extend(self.leases(0.1 + n / 50)), prepare=held)
        self.measure("release", lambda n: queue.release(self.leases(0.2 + n / 50)))
        self.measure("release, delayed", lambda n: queue.release(self.leases(0.3 + n / 50), delay_ms=10_000))
        self.measure("bury", lambda n: queue.bury(self.leases(0.4 + n / 50), reason="x"))
        self.measure("strike", lambda n: queue.strike(self.leases(0.5 + n / 50), why="x"))
        self.measure("acknowledge", lambda n: queue.acknowledge(self.leases(0.6 + n / 50)))
        self.measure("claim, all leased", lambda n: queue.claim(1000))
        lost = self.prepare("leased", score=1)
        self.measure("reap 500, all lost", lambda n: queue.reap(limit=500), prepare=lost)
        self.measure("claim, all lost", lambda n: queue.claim(1000), prepare=lost)
        self.measure("purge, all leased", lambda n: queue.purge(), prepare=held)

        dead = self.prepare("dead")
        self.measure("redrive 1 000", lambda n: queue.redrive(limit=1000), prepare=dead)
        self.measure("redrive, by id", lambda n: queue.redrive(self.ids("dead", 0.5 + n / 50)))
        self.measure("list of the dead, deep", lambda n: queue.list("dead", offset=self.size // 2, limit=1000))
        self.measure("purge, all dead", lambda n: queue.purge(), prepare=dead)

        copies = self.copies
        self.measure("payloads of 10 000 copies", lambda n: queue.payloads(["same"]), prepare=copies)
        self.measure("reschedule 10 000 copies", lambda n: queue.reschedule(["same"], due_ms=NEVER_MS), prepare=copies)
        self.measure("cancel 10 000 copies", lambda n: queue.cancel(["same"], tombstone_ms=1000), prepare=copies)
        self.measure_stock()

    def prepare(self, place: str, *, score: int | None = None) -> Callable[[], None]:
        """Fills that place, when it is called."""
        return lambda: self.fill(place, score=score)

    def copies(self) -> None:
        """One id, published thousands of times."""
        self.fill("waiting", share=0.1)
        for _ in range(20):
            self.queue.schedule([Entry("same", NEVER_MS) for _ in range(500)])

    def measure_stock(self) -> None:
        """What moves messages over from kombu's own transport, and back."""
        register()
        with Connection(self.url) as connection:
            channel = connection.default_channel
            stock = KombuBroker(channel)
            few = 0.02  # its time is the number of calls; each sees the whole list

            def listed() -> None:
                for _ in range(0, int(self.size * few), 1000):
                    self.client.lpush("big", *[BODY] * 1000)

            self.measure("import-redis", lambda n: stock.move(["big"], channel, held=True), prepare=listed)
            self.measure(
                "export-redis",
                lambda n: stock.take_back(["big"], channel),
                prepare=lambda: self.fill("waiting", share=few),
            )


def main(options: argparse.Namespace) -> Result:
    with RedisServer(config={"slowlog-max-len": 1_000_000}) as server, server.client() as client:
        million = Million(client, server.url.replace("redis://", "delayhub://"), options.entries)
        million.run()
    return Result(
        {"entries": options.entries, **million.figures}, max(million.figures.values()) <= options.limit * 1000
    )


OPTIONS = [
    option("--entries", 1_000_000, "in the queue"),
    option("--limit", 10, "ms that a command may take"),
]
