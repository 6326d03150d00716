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
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.chaos_crowd import POLL_SECONDS, Crowd
from benchmarks.children import run_main
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


def carry_out(crowd: Crowd, deeds: list[Deed]) -> None:
    """Does all of it while tasks are published, then waits until nothing is left."""
    plan = [((number + 1) / (len(deeds) + 1), deed) for number, deed in enumerate(deeds)]
    while plan or crowd.is_publishing:
        # The plan keeps pace with the producer, and ends with it.
        share = min(1.0, crowd.published() / crowd.tasks)
        while plan and plan[0][0] <= share:
            plan.pop(0)[1]()
        crowd.tend()
        time.sleep(POLL_SECONDS)
    crowd.wait_until_empty()


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
        carry_out(crowd, Kills(server, proxies, crowd).plan(options.kills, options.restarts))
        found = crowd.figures()
        good = found["lost"] == 0 and found["run more than once"] <= found["leased at the deeds"] and is_clean(found)
        return found, good or complain(crowd)


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
        carry_out(crowd, [fall])
        found = crowd.figures()
        # What no replica had is lost without WAIT, and nothing can help it; how much it was is what is measured.
        return found, (is_clean(found) and (not wait or found["lost"] == 0)) or complain(crowd)


def is_clean(found: dict[str, int]) -> bool:
    """Whether nothing is left, nothing is dead and nothing came early."""
    return found["dead"] == found["still there"] == found.get("worker ended by itself", 0) == 0 <= found["earliest ms"]


def complain(crowd: Crowd) -> bool:
    print(crowd.log, file=sys.stderr)
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=10_000, help="tasks published (default: 10000)")
    parser.add_argument("--countdown", type=int, default=20, help="longest countdown in seconds (default: 20)")
    parser.add_argument("--kills", type=int, default=20, help="processes killed with -9 (default: 20)")
    parser.add_argument("--restarts", type=int, default=3, help="how often each other thing is done (default: 3)")
    parser.add_argument(
        "--alone", type=float, default=0.3, help="seconds that a master is cut off before it falls (default: 0.3)"
    )
    parser.add_argument("--seed", type=int, default=1, help="which order things are done in (default: 1)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="delayhub-chaos-") as folder:
        runs = {
            "kills": kills(Path(folder) / "kills", options),
            "failover": failover(Path(folder) / "failover", options, wait=False),
            "failover, WAIT": failover(Path(folder) / "wait", options, wait=True),
        }
    rows = dict.fromkeys(name for found, _ in runs.values() for name in found)
    print(" " * 24 + "".join(f"{name:>18}" for name in runs))
    for row in rows:
        print(f"{row:24}" + "".join(f"{found.get(row, '')!s:>18}" for found, _ in runs.values()))
    print(json.dumps({"benchmark": "chaos_transport", **{name: found for name, (found, _) in runs.items()}}))
    return 0 if all(good for _, good in runs.values()) else 1


if __name__ == "__main__":
    sys.exit(run_main(main))
