"""Do all limits of tasks and unique keys hold while workers are killed, or masters of a cluster?

Question: tasks with ``rate_limit``, ``max_in_flight``, ``key_rate_limit`` and ``key_max_in_flight``, each with a
    backlog, for some tenants, of which one has twenty times as much; calls of a unique task over a few keys, a new
    tenant each second, and others without limits, of which one of 25 takes 3 s. One of four workers (two prefork,
    threads, solo) is killed with -9 every few seconds; or the queue has 8 slots on three masters, two of which are
    killed. How many starts are in the fullest second, of the task and of a tenant, how many run at once, do two of a
    unique key, does each task run, how late are the others, and is anything left? The task with ``key_max_in_flight``
    acknowledges early: does it never run twice, and how many do kills lose?
Machine: whatever runs it.
Command: make chaos NAME=limits
Result: a table and one JSON line; exit code 0 only if no second had more starts than the limit and one, no more ran at
    once than may, each task ran, and nothing was held or put right by claims in the end.
Caveat: with workers killed, seconds count by what Redis let start in them: a busy machine does not stretch its clock.
    With masters killed, a second may have as many more as there are processes, which may note a start late, but not the
    whole run; and the rate of a tenant is not judged: a replica may never have had its last starts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import redis

from benchmarks.chaos_cluster import kill_the_master_of
from benchmarks.chaos_unique import at_once, written
from benchmarks.limits_rig import APP, Notes, Permits, most_in_a_second, put_right
from benchmarks.processes import Fleet, is_soon, told
from benchmarks.result import Result, judged, option
from delayhub.engine import DelayQueue, EngineOptions
from delayhub.engine.lane_tag import slot_lane, slot_of, tag
from delayhub.engine.limits import flying_counts
from delayhub.engine.queue_slots import QueueSlots, ask_slots
from delayhub.engine.spread_queue import find_queue
from delayhub.local.redis_server import RedisServer
from delayhub.redis_cluster import client_of, cluster_pool
from tests.cluster import LocalCluster
from tests.waiting import wait_until

QUEUE, SLOTS = "celery", 8
RATE, AT_ONCE, REPORTS = 10, 2, 3
KEY_RATE, TENANTS, BUSY = 2, 4, 20
KEYS = 4
#: Other tasks published a second, each of which takes so long; every SLOW_EVERY-th longer.
OTHERS, OTHER_SECONDS, SLOW_EVERY, SLOW_SECONDS = 20, 0.02, 25, 3.0
#: What is limited by itself: the masters of these are killed.
LIMITED = ("limits.mail", "limits.report")
CREW = ("-P prefork -c 4", "-P prefork -c 2", "-P threads -c 4", "-P solo")
#: How many start at once in all of them: so many may note a start late.
AT_ONCE_IN_ALL = 11
WRONG = ("never run", "run twice", "unique keys twice at once", "keys left", "held", "put right")


class Ground(NamedTuple):
    """Where the shop stands.

    Args:
        url: of its broker.
        client: of the server, or of all.
        kills: what is done to the servers.
        lease: seconds, longer than a master is away.
        crew: the workers.
    """

    url: str
    client: redis.Redis
    kills: list[Callable[[], None]]
    lease: float
    crew: tuple[str, ...]


@contextmanager
def one_server() -> Iterator[Ground]:
    """A server that stays; workers are killed."""
    with RedisServer(append_only=False) as server, server.client(socket_timeout=None) as client:
        yield Ground(server.url.replace("redis", "delayhub", 1), client, [], 3.0, CREW)


@contextmanager
def masters() -> Iterator[Ground]:
    """Three masters with a replica each, of which two are killed; the queue has slots on all of them."""
    with LocalCluster(masters=3, replicas=1) as cluster:
        client = client_of(cluster_pool(cluster.url, timeout_seconds=30))
        ask_slots(client, QUEUE, QueueSlots(), prefix="", number=SLOTS)
        tags = [tag(slot_lane(QUEUE, slot_of(task, SLOTS))) for task in LIMITED]
        kills = [partial(kill_the_master_of, cluster, each) for each in tags]
        yield Ground(cluster.url, client, kills, 15.0, (CREW[0], CREW[2]))


class Published:
    """What was published, to compare with what ran."""

    def __init__(self, shop: Any, seconds: int) -> None:
        self.shop, self.seconds = shop, seconds
        self.tenants = [f"t{number}" for number in range(TENANTS)]
        self.work: dict[int, float] = {}
        self.new: dict[int, float] = {}
        self.single: set[str] = set()

    def backlog(self) -> None:
        """What there is of each limited task before the kills begin."""
        for number in range(RATE * self.seconds):
            self.shop.mail.delay(number)
        for number in range(REPORTS * self.seconds):
            self.shop.report.delay(number)
        for tenant in self.tenants:
            for number in range(KEY_RATE * self.seconds * (BUSY if tenant == self.tenants[0] else 1)):
                self.shop.keyed.delay(tenant, number)
            for number in range(self.seconds):
                self.shop.tally.delay(tenant, number)

    def turn(self, number: int, now: float) -> None:
        """One of OTHERS in each second."""
        self.work[number] = now
        self.shop.work.delay(number, OTHER_SECONDS if number % SLOW_EVERY else SLOW_SECONDS)
        self.single.add(self.shop.single.delay(f"key{number % KEYS}", 0.3).id)
        if number % OTHERS == 0:
            self.new[number] = now
            self.shop.keyed.apply_async(["new", number], flow_key=f"new-{number}")

    def left(self, notes: Notes) -> int:
        """How many have not run; of the busy tenant, whose backlog is longer, as many count as of others."""
        usual = KEY_RATE * self.seconds
        wanted = {"mail": RATE * self.seconds, "reported": REPORTS * self.seconds}
        wanted |= {"work": len(self.work), "keyed-new": len(self.new)}
        wanted |= {f"keyed-{tenant}": usual for tenant in self.tenants}
        wanted |= {f"tally-{tenant}": self.seconds for tenant in self.tenants}
        ids = {run.id for run in written(notes.folder).runs}
        return sum(max(0, count - len(notes.numbers(name))) for name, count in wanted.items()) + len(self.single - ids)


def run(folder: Path, ground: Ground, asked: argparse.Namespace) -> tuple[dict[str, float], bool]:
    """The figures of one run, and whether they are as they must be."""
    folder.mkdir()
    notes, queue = Notes(folder), find_queue(ground.client, QUEUE, options=EngineOptions())
    parts: list[DelayQueue] = getattr(queue, "parts", [queue])
    conf = {"broker_transport_options": {"lease_seconds": ground.lease}}
    limits = {"LIMITS_RATE": f"{RATE}/s", "LIMITS_AT_ONCE": str(AT_ONCE), "LIMITS_KEY_RATE": f"{KEY_RATE}/s"}
    with ExitStack() as stack:
        stack.enter_context(told(SHOP_BROKER=ground.url, SHOP_FOLDER=str(folder), SHOP_CONF=json.dumps(conf), **limits))
        sys.modules.pop(APP, None)  # so that its app is one of this broker
        shop = importlib.import_module(APP)
        permits = None if ground.kills else stack.enter_context(Permits(ground.client, queue=QUEUE, task=LIMITED[0]))
        killer = stack.enter_context(ThreadPoolExecutor(1))
        fleet = stack.enter_context(Fleet(folder, APP, ground.crew))
        wait_until(
            lambda: set(LIMITED) <= {name.decode() for name in ground.client.hkeys(queue.keys.limited)},
            within_seconds=120,
        )
        published, killing = Published(shop, asked.seconds), list[Future[None]]()
        published.backlog()
        every = 0.0 if ground.kills else asked.kill_every
        chance = random.Random(asked.seed)
        for number, now in fleet.under_kills(asked.seconds, every=every, per_second=OTHERS, chance=chance):
            published.turn(number, now)
            if len(killing) < len(ground.kills) and number > asked.seconds * OTHERS * (len(killing) + 1) / 4:
                killing.append(killer.submit(ground.kills[len(killing)]))
        kills = sum(each.result() is None for each in killing) + len(fleet.kills)
        is_soon(lambda: not published.left(notes), within_seconds=60 + 3 * asked.seconds)
        never = published.left(notes)
        queue.purge()  # what is left of the busy tenant
        is_soon(lambda: not held(parts), within_seconds=60)
        found = {"kills": kills, "never run": never, "held": held(parts), "put right": put_right(ground.client, parts)}
        is_soon(lambda: not keys_left(parts), within_seconds=60)
        found["keys left"] = keys_left(parts)
    found |= of_limits(notes, published, lease=ground.lease)
    singles, killed = written(folder).runs, dict(fleet.kills)
    found |= {"unique calls": len(published.single), "unique keys twice at once": at_once(singles, killed)}
    good = judged(found, none=WRONG, some=("kills", "mails", "unique calls"))
    good &= found["most at once"] <= AT_ONCE and found["most of a tenant at once"] <= 1
    # Of each killed worker at most what ran at once.
    good &= found["lost by early acks"] <= TENANTS * len(fleet.kills)
    # Each process has one at most that was let start and has not noted it: only free processes get any.
    good &= found["most starts in a second"] <= RATE + 1 + AT_ONCE_IN_ALL
    good &= found["starts a second"] <= RATE * 1.05
    if permits is None:
        return found, good
    times = permits.times
    found |= {"permits": len(times), "most permits in a second": most_in_a_second(times)}
    found["permits a second"] = round((len(times) - 1) / (times[-1] - times[0]), 2)
    good &= found["permits"] >= found["mails"]
    good &= found["most starts of a tenant in a second"] <= KEY_RATE + 1
    return found, good and found["most permits in a second"] <= RATE + 1


def of_limits(notes: Notes, published: Published, *, lease: float) -> dict[str, float]:
    """How many starts seconds had, how many ran at once, what early acknowledgement lost, and how late others were."""
    tallies = [(tenant, number) for tenant in published.tenants for number, _ in notes.starts(f"tally-{tenant}")]
    ended = {(tenant, number) for tenant in published.tenants for number, _ in notes.starts(f"tally-{tenant}ed")}
    # A lease is renewed when a third of it has passed, so what is left of it is more than this.
    lasts, mails = lease / 2, notes.times("mail")
    return {
        "mails": len(mails),
        "starts a second": round((len(mails) - 1) / (mails[-1] - mails[0]), 2),
        "most starts in a second": most_in_a_second(mails),
        "most starts of a tenant in a second": max(
            most_in_a_second(notes.times(f"keyed-{tenant}")) for tenant in published.tenants
        ),
        "most at once": notes.most_at_once("report", lasts_at_most=lasts),
        "most of a tenant at once": max(
            notes.most_at_once(f"tally-{tenant}", lasts_at_most=lasts) for tenant in published.tenants
        ),
        "run twice": len(tallies) - len(set(tallies)),
        "lost by early acks": len(set(tallies) - ended),
        **{f"others {name}": ms for name, ms in notes.lateness("work", published.work).items()},
        **{f"new tenants {name}": ms for name, ms in notes.lateness("keyed-new", published.new).items()},
    }


def held(parts: list[DelayQueue]) -> int:
    """How many messages are leased, or count among those that run."""
    return sum(part.count().leased + sum(flying_counts(part).values()) for part in parts)


def keys_left(parts: list[DelayQueue]) -> int:
    """In how many parts unique keys are taken, or messages wait for some."""
    names = [name for part in parts for name in (part.keys.unique, part.keys.followers)]
    return sum(int(parts[0].client.exists(name)) for name in names)


GROUNDS = {"workers": one_server, "masters": masters}


def main(asked: argparse.Namespace) -> Result:
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.only:
            with GROUNDS[name]() as ground:
                runs[name] = run(Path(folder) / name, ground, asked)
            print(f"{name}: {runs[name]}", file=sys.stderr, flush=True)
    return Result.of(runs)


OPTIONS = [
    option("--seconds", 60),
    option("--kill-every", 5.0),
    option("--seed", 1),
    option("--only", list(GROUNDS), "who is killed", nargs="*", choices=list(GROUNDS)),
]
