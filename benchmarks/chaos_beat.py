"""Is each occurrence published exactly once, although beats are killed with -9 at random?

Question: four workers with ``-B`` share one schedule, and one after the other is killed with -9 and started again. How
    many occurrences are published twice, and how many are left out?
Machine: whatever runs it: Redis, four workers, and this process, which takes the messages out.
Command: make chaos NAME=beat (an hour by a clock that jumps)
Result: one JSON line; exit code 0 only if each occurrence was published once.
Caveat: by a clock that jumps, lateness means nothing. There is always one worker that is not being killed.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import redis

from benchmarks.processes import Fleet
from benchmarks.result import Result, judged, option
from delayhub.clock import due_ms
from delayhub.engine import DelayQueue, LaneKeys
from delayhub.engine.occurrences import OccurrenceBook, PeriodicEntry
from delayhub.local.redis_server import RedisServer
from delayhub.testing.movable_clock import ENTRY_TIMES
from delayhub.transport.envelope import from_payload
from delayhub.transport.occurrence import OCCURRENCE_HEADER
from tests.redis_time import redis_now_ms
from tests.waiting import wait_until

QUEUES = {"ticks": 3, "others": 2}


class Ledger:
    """What was published: of each entry the nominal times, in ms."""

    def __init__(self, client: redis.Redis) -> None:
        self.client = client
        self.times: dict[str, list[int]] = {}

    def take(self, *queues: str, ahead_ms: int = 0) -> None:
        """Takes the messages out of these queues, or of all; ``ahead_ms`` is how far the clock has jumped until now."""
        for name in queues or QUEUES:
            queue = DelayQueue(self.client, name)
            while entries := queue.claim(500, no_ack=True).entries:
                for entry in entries:
                    self._note(from_payload(entry.payload), ahead_ms)

    def faults(self) -> dict[str, int]:
        """How many occurrences were published twice, and how many were left out."""
        entries = self.entries()
        twice = left_out = 0
        for name, times in self.times.items():
            (period,) = {
                int(float(word) * 1000) for word in entries[f"beats/{name}"].words.split() if word[0].isdigit()
            }
            twice += sum(count - 1 for count in Counter(times).values())
            left_out += (max(times) - min(times)) // period + 1 - len(set(times))
            if any((at - min(times)) % period for at in times):
                raise AssertionError(f"{name} left its grid: {sorted(times)[:9]}")
        return {"published": sum(map(len, self.times.values())), "twice": twice, "left_out": left_out}

    def entries(self) -> dict[str, PeriodicEntry]:
        """Where entries stand."""
        return {name: entry for queue in QUEUES for name, entry in OccurrenceBook(self.client, queue).all().items()}

    def _note(self, message: dict[str, Any], ahead_ms: int) -> None:
        at = due_ms(datetime.fromisoformat(message["headers"][OCCURRENCE_HEADER]))
        (name,) = json.loads(message["body"])[0]
        self.times.setdefault(name, []).append(at + ahead_ms)


def are_up(running: Fleet) -> bool:
    """Whether each beat has begun, of those that run now."""
    logs = [(running.folder / f"worker{number}.log").read_text() for number in range(len(running.alive))]
    began = [log.partition(f"== {name}\n")[2] for log, name in zip(logs, running.names, strict=True)]
    return all("beat: Starting" in log for log in began)


@contextmanager
def beats(count: int, *, server: RedisServer) -> Iterator[Fleet]:
    """Workers with beats, that have written their entries down."""
    environment = {"SHOP_BROKER": server.url.replace("redis://", "delayhub://")}
    with tempfile.TemporaryDirectory() as folder:
        crew = ["-B -P threads -c1 -Q idle -l INFO --without-heartbeat"] * count
        with Fleet(Path(folder), "benchmarks.beat_shop", crew, **environment) as running:
            wait_until(lambda: are_up(running), otherwise="beats that have begun", within_seconds=300)
            yield running


def simulated(seconds: int, *, workers: int, step_seconds: int, kill_every: int) -> dict[str, Any]:
    """So long a time by a clock that jumps, some seconds at once."""
    with (
        RedisServer() as server,
        redis.Redis.from_url(server.url) as client,
        beats(workers, server=server) as running,
    ):
        ledger, start, jumps = Ledger(client), time.monotonic(), 0
        wait_until(lambda: len(ledger.entries()) == sum(QUEUES.values()), otherwise="entries", within_seconds=300)
        while jumps * step_seconds < seconds:
            turn = partial(jump, ledger, ahead_ms=jumps * step_seconds * 1000, by_ms=step_seconds * 1000)
            for queue in QUEUES:
                due = partial(turn, queue)
                wait_until(due, otherwise="all that is due", within_seconds=120, look_seconds=0.01)
            jumps += 1
            if jumps % kill_every == 0 and are_up(running):
                running.kill(random.randrange(workers))
        wait_until(lambda: is_quiet(ledger), otherwise="all that is due", within_seconds=120)
        ledger.take(ahead_ms=jumps * step_seconds * 1000)
        took = round(time.monotonic() - start)
        return {"seconds": seconds, "took": took, "kills": len(running.kills), **ledger.faults()}


def jump(ledger: Ledger, queue: str, *, ahead_ms: int, by_ms: int) -> bool:
    """Brings the entries of a queue nearer, unless one of them is due; whether it did.

    The messages of before are taken out first. Where a beat publishes meanwhile, it is done again.
    """
    key = LaneKeys(queue).schedules
    did: list[bool] = []

    def pull(pipeline: Any) -> None:
        stored = {name: json.loads(raw) for name, raw in pipeline.hgetall(key).items()}
        now = redis_now_ms(ledger.client)
        ledger.take(queue, ahead_ms=ahead_ms)
        did[:] = [all(entry["next"] > now and "token" not in entry for entry in stored.values())]
        pipeline.multi()
        for name, entry in stored.items() if did[0] else ():
            pulled = {part: entry[part] - by_ms for part in ENTRY_TIMES if part in entry}
            pipeline.hset(key, name, json.dumps(entry | pulled))

    ledger.client.transaction(pull, key)
    return did[0]


def is_quiet(ledger: Ledger) -> bool:
    """Whether nothing is due, and no beat is about to publish."""
    now = redis_now_ms(ledger.client)
    return all(entry.next > now and not entry.holder for entry in ledger.entries().values())


def main(options: argparse.Namespace) -> Result:
    random.seed(options.seed)
    found = simulated(options.simulated, workers=options.workers, step_seconds=5, kill_every=4)
    good = judged(found, none=("twice", "left_out"), some=("published", "kills"))
    return Result({"seed": options.seed, **found}, good)


OPTIONS = [
    option("--workers", 4),
    option("--simulated", 3600, metavar="SECONDS"),
    option("--seed", random.randrange(10**6)),
]
