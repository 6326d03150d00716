"""What chaos runs of limits share: the shop's workers, what it wrote down, and what claims cost."""

from __future__ import annotations

import argparse
import random
import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import redis

from benchmarks.figures import late
from benchmarks.processes import Fleet, is_soon, told, words_of
from delayhub.celery_support.backlog import backlogs
from delayhub.engine import DelayQueue, Entry, LaneKeys
from delayhub.engine.limits import flying_counts
from delayhub.local.redis_server import RedisServer

APP = "benchmarks.limits_shop"
CREW = ("-P prefork -c 4", "-P prefork -c 2", "-P threads -c 4", "-P solo")
#: How many processes and threads they have.
SLOTS = 11
#: Other tasks published a second, each of which takes so long.
OTHERS, OTHER_SECONDS = 20, 0.02
#: Seconds that the workers have for their start, beside those of the run.
START_SECONDS = 3.0
#: Seconds that a report takes at least, as the shop has it: so long a run counts that was killed.
REPORT_LASTS = 0.3


class Notes:
    """What the shop wrote down in the folder of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def starts(self, name: str) -> list[tuple[int, float]]:
        """The number and the time of each line of a file."""
        return [(int(number), float(at)) for number, at in words_of(self.folder / name)]

    def times(self, name: str) -> list[float]:
        """These times, in order."""
        return sorted(at for _, at in self.starts(name))

    def numbers(self, name: str) -> set[int]:
        """These numbers, each once."""
        return {number for number, _ in self.starts(name)}

    def lateness(self, name: str, published: Mapping[int, float]) -> dict[str, float]:
        """How many ms after its publish each task started that a file tells of, the first time."""
        first: dict[int, float] = {}
        for number, at in self.starts(name):
            first[number] = min(at, first.get(number, at))
        return late([1000 * (at - published[number]) for number, at in first.items()])

    def most_at_once(self, name: str = "report", *, lasts_at_most: float = 2.5) -> int:
        """How many of a task with ``max_in_flight`` ran at once; a run that was killed counts for its usual time.

        The lease of a run that was killed ends after 3 s, so an end that comes later is that of another run.
        """
        ends: dict[int, list[float]] = {}
        for number, at in self.starts(f"{name}ed"):
            ends.setdefault(number, []).append(at)
        changes: list[tuple[float, int]] = []
        for number, at in self.starts(name):
            ended = [end for end in ends.get(number, []) if at < end < at + lasts_at_most]
            changes += [(at, 1), (min(ended, default=at + REPORT_LASTS), -1)]
        running = most = 0
        for _, by in sorted(changes):
            running += by
            most = max(most, running)
        return most


def most_in_a_second(times: Sequence[float]) -> int:
    """The most of these moments, which are in order, in any second."""
    return max((bisect_left(times, at + 1.0) - number for number, at in enumerate(times)), default=0)


class Crowd(NamedTuple):
    """The shop under four workers, on a server of their own."""

    shop: Any
    fleet: Fleet
    client: redis.Redis
    connection: Any

    def turns(self, asked: argparse.Namespace) -> Iterator[tuple[int, float]]:
        """Turns for other tasks, while workers are killed: see ``Fleet.under_kills``."""
        chance = random.Random(asked.seed)
        seconds = asked.seconds + START_SECONDS
        return self.fleet.under_kills(seconds, every=asked.kill_every, per_second=OTHERS, chance=chance)


@contextmanager
def crowd(folder: Path, *, acks: str, lease: float = 3.0, **limits: str) -> Iterator[Crowd]:
    """Starts them; their limits are those that the shop knows, without ``LIMITS_``."""
    with RedisServer(append_only=False) as server, server.client(socket_timeout=None) as client:
        environment = {
            "SHOP_BROKER": f"delayhub://127.0.0.1:{server.port}/0",
            "SHOP_FOLDER": str(folder),
            "SHOP_CONF": f'{{"broker_transport_options": {{"lease_seconds": {lease}}}}}',
            "LIMITS_ACK": acks,
            **{f"LIMITS_{name.upper()}": value for name, value in limits.items()},
        }
        with told(**environment), Fleet(folder, APP, CREW) as fleet:
            from benchmarks import limits_shop as shop

            with shop.app.connection_for_write(environment["SHOP_BROKER"]) as connection:
                yield Crowd(shop, fleet, client, connection)


def held_at_the_end(client: redis.Redis, *, task: str = "") -> int:
    """How many messages are held, and count among those that run, once all have ended, or after a minute.

    Of one task and its flow keys only those that count, where it is named: others may go on.
    """
    queue = DelayQueue(client, "celery")

    def held() -> int:
        flying = sum(count for name, count in flying_counts(queue).items() if name.startswith(task))
        return flying + (0 if task else queue.count().leased)

    is_soon(lambda: not held(), within_seconds=60)
    return held()


def put_right(client: redis.Redis, queue: DelayQueue | None = None) -> int:
    """What claims found wrong in a queue, and put right."""
    queue = queue or DelayQueue(client, "celery")
    return backlogs(client, [queue])[queue.name].healed


# ---------------------------------------------------------------- what Redis lets start


class Permits:
    """Notes when a server lets a task with a rate limit start, by its own clock, which no busy machine stretches.

    It listens to what the server does as long as the ``with`` block lasts.

    Args:
        client: of the server, without a timeout of its own.
        queue: the task's queue.
        task: its name, which has no character that Redis would quote.
    """

    def __init__(self, client: redis.Redis, *, queue: str, task: str) -> None:
        self.times: list[float] = []
        self._begin = f"HSET {LaneKeys(queue, '').queue(queue).limited} {task} "
        self._client = client
        self._monitor: Any = client.monitor()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._is_over = False

    def __enter__(self) -> Self:
        self._monitor.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._client.ping()  # so that there is something to hear
        self._thread.join(10)
        self._monitor.__exit__(None, None, None)

    def _listen(self) -> None:
        last = 0
        while not self._is_over:
            heard = self._monitor.next_command()
            if heard["command"].startswith(self._begin):
                # "<µs between two> : <µs of the next one>"; a worker that declares the limit writes it as it was.
                following = int(heard["command"].rpartition(" ")[2].split(":")[1])
                if following > last:
                    last = following
                    self.times.append(heard["time"])


# ---------------------------------------------------------------- what claims cost


def cpu_us(client: Any) -> float:
    """The server's CPU time so far; that of its scripts by the clock would count what other programs take."""
    used = client.info("cpu")
    return 1e6 * (float(used["used_cpu_user_main_thread"]) + float(used["used_cpu_sys_main_thread"]))


def claims(queue: DelayQueue) -> float:
    """µs of Redis' CPU for a claim of 20 that no limit is about, with its acknowledgement."""
    client, used = queue.client, list[float]()
    for _ in range(9):
        queue.schedule([Entry(f"free{n}", payload=b'{"headers":{"task":"bench.other"}}') for n in range(2000)])
        began = cpu_us(client)
        for _ in range(100):
            leases = [queue.lease(entry.id, entry.token) for entry in queue.claim(20, free=0).entries]
            queue.acknowledge(leases)
        used.append((cpu_us(client) - began) / 100)
    return round(min(used), 1)


def parking(queue: DelayQueue) -> tuple[float, float]:
    """µs of Redis' CPU that claims take until they have parked all that is ready, and ms of the longest of them."""
    began, worst = cpu_us(queue.client), 0.0
    while queue.count().ready:
        call = cpu_us(queue.client)
        queue.claim(100, free=0)
        worst = max(worst, cpu_us(queue.client) - call)
    return cpu_us(queue.client) - began, round(worst / 1000, 2)
