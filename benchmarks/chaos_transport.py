"""What is lost, and what runs twice, when processes are killed, Redis falls and connections fail?

Question: of 10 000 tasks, half of them with a countdown of up to 20 s, how many never run, and how many more than once,
    kills: while producers and workers are killed with -9, Redis is killed and restarted (``appendfsync always``),
        connections are cut, slowed down and left half-open by a TCP proxy, and scripts flushed;
    failover: while the master falls of three Redis that three Sentinels watch, cut off from them 0.3 s before;
    failover, WAIT: the same where publishers wait until one replica has their task?
Machine: whatever runs it; two workers (threads, prefork), one producer.
Command: make chaos NAME=transport
Result: a table and one JSON line; exit code 0 only if nothing was lost but what replicas never had, nothing came early,
    and in the first run no more ran twice than was leased when something was done to it.
Caveat: tasks are acknowledged late. A task acknowledged early, Celery's default, is lost with the worker it runs in.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.chaos_crowd import Crowd
from benchmarks.result import Result, option
from delayhub.engine import Counts, DelayQueue
from delayhub.local.redis_server import RedisServer
from tests.integration.delayhub.transport.sentinels import NAME, Sentinels
from tests.tcp_proxy import TcpProxy

#: Seconds that a slow connection is slow, and by how much.
SLOW_SECONDS, SLOW_BY = 3.0, 0.3

Deed = Callable[[], None]


class Kills:
    """One server, whose clients come through proxies, and all that is done to them."""

    def __init__(self, server: RedisServer, proxies: list[TcpProxy], crowd: Crowd) -> None:
        self.server = server
        self.proxies = proxies
        self.crowd = crowd

    def plan(self, kills: int, restarts: int) -> list[Deed]:
        """Everything that will be done, in a random order."""
        deeds = [self.crowd.kill_a_worker] * (kills - kills // 4) + [self.crowd.kill_the_producer] * (kills // 4)
        for deed in (self.restart_redis, self.cut, self.slow_down, self.half_open, self.flush_scripts):
            deeds += [deed] * restarts
        self.crowd.chance.shuffle(deeds)
        return deeds

    def restart_redis(self) -> None:
        """A power cut of Redis."""
        self.crowd.note("Redis killed", strands=True)
        self.server.kill()
        self.server.start()

    def cut(self) -> None:
        """All clients lose their connections, also those in the middle of a reply."""
        self.crowd.note("connections cut", strands=True)
        for proxy in self.proxies:
            proxy.cut()

    def slow_down(self) -> None:
        """What all clients send and get comes later, for a while."""
        self.crowd.note("connections slowed")
        for proxy in self.proxies:
            proxy.slow_down(SLOW_BY, seconds=SLOW_SECONDS)

    def half_open(self) -> None:
        """The connections of one worker stay open, and nothing ever comes over them again."""
        self.crowd.chance.choice(self.proxies[:-1]).mute()
        self.crowd.note("connections half-open", strands=True)

    def flush_scripts(self) -> None:
        """Redis forgets every script."""
        self.crowd.note("scripts flushed")
        with self.server.client() as client:
            client.script_flush()


def kills(folder: Path, options: argparse.Namespace) -> tuple[dict[str, int], bool]:
    """The figures of the first run, and whether they are as they must be."""
    with RedisServer(append_only=True, config={"appendfsync": "always"}) as server, ExitStack() as stack:

        def count() -> Counts:
            with server.client() as client:
                return DelayQueue(client, "celery").count()

        proxies = [stack.enter_context(TcpProxy(server.port)) for _ in range(3)]
        brokers = [f"delayhub://127.0.0.1:{proxy.port}/0" for proxy in proxies]
        crowd = stack.enter_context(
            Crowd(
                folder,
                tasks=options.tasks,
                countdown=options.countdown,
                brokers=brokers,
                options={},
                count=count,
                seed=options.seed,
            )
        )
        deeds = Kills(server, proxies, crowd).plan(options.kills, options.restarts)
        crowd.carry_out([((number + 1) / (len(deeds) + 1), deed) for number, deed in enumerate(deeds)])
        found, good = crowd.judged(may_lose=False)
        return found, good and found["run more than once"] <= found["leased at the deeds"]


def failover(folder: Path, options: argparse.Namespace, *, wait: bool) -> tuple[dict[str, int], bool]:
    """The figures of a run in which the master falls, and whether they are as they must be."""
    with ExitStack() as stack:
        sentinels = stack.enter_context(Sentinels(Path(stack.enter_context(tempfile.TemporaryDirectory()))))
        own: dict[str, object] = {"master_name": NAME}
        if wait:
            own |= {"wait_replicas": 1, "wait_seconds": 1}

        def count() -> Counts:
            with sentinels.client() as client:
                return DelayQueue(client, "celery").count()

        def fall() -> None:
            crowd.note("master fell", strands=True)
            sentinels.kill_the_master(alone_seconds=options.alone)

        tasks = max(options.tasks // 4, 100)
        crowd = stack.enter_context(
            Crowd(
                folder,
                tasks=tasks,
                countdown=options.countdown,
                brokers=[sentinels.url] * 3,
                options=own,
                count=count,
                seed=options.seed,
            )
        )
        crowd.carry_out([(0.5, fall)])
        # What no replica had is lost without WAIT, and nothing can help it; how much it was is what is measured.
        return crowd.judged(may_lose=not wait)


RUNS: dict[str, Callable[[Path, argparse.Namespace], tuple[dict[str, int], bool]]] = {
    "kills": kills,
    "failover": partial(failover, wait=False),
    "failover, WAIT": partial(failover, wait=True),
}


def main(options: argparse.Namespace) -> Result:
    with tempfile.TemporaryDirectory(prefix="delayhub-chaos-") as made:
        return Result.of({name: RUNS[name](Path(made) / name.replace(", ", "-"), options) for name in options.only})


OPTIONS = [
    option("--tasks", 10_000, "tasks published"),
    option("--countdown", 20, "longest countdown in seconds"),
    option("--kills", 20, "processes killed with -9"),
    option("--restarts", 3, "how often each other thing is done"),
    option("--alone", 0.3, "seconds that a master is cut off before it falls"),
    option("--seed", 1, "which order things are done in"),
    option("--only", list(RUNS), nargs="*", choices=list(RUNS)),
]
