"""Do two calls with the same unique key ever run at once while workers are killed, and is any of them lost?

Question: calls through ``send_task``, groups, chords, chains, retries and schedules (two beats), over a few keys, acked
    early and late; four workers (two prefork, threads, solo), one of them killed with -9 every few seconds and started
    again. Does a run begin while another with its key has not ended, is an accepted call lost, does a canvas not end,
    and is a key still taken when all is done?
Machine: whatever runs it.
Command: make chaos NAME=unique
Result: a table and one JSON line; exit code 0 only if no two ran at once, nothing that acks late was lost, each canvas
    of such tasks ended, no key is left, and of tasks that ack early only those did not end which a killed worker had
    accepted and was not done with.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.limits_rig import put_right
from benchmarks.processes import Fleet, is_soon, told, words_of
from benchmarks.result import Result, judged, option
from delayhub.engine import DelayQueue
from delayhub.engine.key_holders import look_at_keys
from delayhub.local.redis_server import RedisServer

#: What each worker is asked for; two have a beat.
CREW = ("-P prefork -c 2 -B", "-P prefork -c 2", "-P threads -c 3 -B", "-P solo")
#: Seconds for what is left after the last kill.
DRAIN_SECONDS = 240.0


@dataclass(slots=True)
class Run:
    """One run of a task: its bounds; the end is None where none was written."""

    task: str
    key: str
    id: str
    worker: str
    begin: float
    end: float | None = None


@dataclass(slots=True)
class Written:
    """What the workers wrote down."""

    runs: list[Run] = field(default_factory=list)
    #: Of each task that acks early: the workers that were about to acknowledge it.
    accepted: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    #: The ids of those whose result is stored, and what follows them sent.
    done: set[str] = field(default_factory=set)

    def is_taken(self, task_id: str, killed: Mapping[str, float]) -> bool:
        """Whether a killed worker had acknowledged this task, and none was done with it."""
        return task_id not in self.done and any(worker in killed for worker in self.accepted[task_id])


@dataclass(slots=True)
class Sent:
    """What was published, and what came back."""

    calls: list[tuple[str, str, str]] = field(default_factory=list)  # task, own id, kept id
    canvases: list[tuple[str, Any]] = field(default_factory=list)
    kills: list[tuple[str, float]] = field(default_factory=list)


def publish(shop: Any, chance: random.Random, sent: Sent, *, keys: int) -> None:
    """One call, or one canvas, with keys by chance."""
    from celery import chain, chord, group

    def pick(task: Any) -> Any:
        return task.s(f"key{chance.randrange(keys)}", round(chance.uniform(0.05, 0.6), 2))

    def immutable(task: Any) -> Any:
        return pick(task).set(immutable=True)

    kind = chance.random()
    if kind < 0.9:
        task, own = chance.choice((shop.late, shop.early, shop.late, shop.early, shop.retried)), str(uuid4())
        arguments = list(pick(task).args)
        countdown = chance.choice((None, None, 0.5))
        result = shop.app.send_task(task.name, arguments, task_id=own, countdown=countdown)
        sent.calls.append((task.name, own, result.id))
        return
    task = chance.choice((shop.late, shop.early))
    canvases = (
        lambda: group(pick(task), pick(task)).apply_async(),
        lambda: chord([pick(task), pick(task)], shop.total.s()).apply_async(),
        lambda: chain(immutable(task), immutable(task), immutable(task)).apply_async(),
    )
    sent.canvases.append((task.name, chance.choice(canvases)()))


def run(folder: Path, asked: argparse.Namespace) -> dict[str, float]:
    """The figures of one run."""
    chance, sent, crew = random.Random(asked.seed), Sent(), CREW[: asked.workers]
    with (
        RedisServer(append_only=False) as server,
        server.client() as client,
        told(
            SHOP_BROKER=f"delayhub://127.0.0.1:{server.port}/0",
            SHOP_RESULTS=f"redis://127.0.0.1:{server.port}/1",
            SHOP_FOLDER=str(folder),
            SHOP_CONF='{"broker_transport_options": {"lease_seconds": 10.0}}',
        ),
        Fleet(folder, "benchmarks.unique_shop", crew) as fleet,
    ):
        from benchmarks import unique_shop as shop

        queue = DelayQueue(client, "celery")
        for _ in fleet.under_kills(asked.seconds, every=asked.kill_every, per_second=asked.rate, chance=chance):
            publish(shop, chance, sent, keys=asked.keys)
        # The beats end with their workers, so that the rest can be waited for.
        for number, options in enumerate(crew):
            if options.endswith("-B"):
                fleet.kill(number, then=options.removesuffix("-B"))
        sent.kills = fleet.kills
        is_soon(lambda: not any(queue.count()) and _all_ended(sent, folder), within_seconds=DRAIN_SECONDS)
        return _figures(sent, folder) | {
            "keys left": len(look_at_keys(queue, limit=1000).found)
            + client.exists(queue.keys.unique, queue.keys.followers),
            "messages left": sum(queue.count()),
            "dead": queue.count().dead,
            "put right": put_right(client, [queue]),
        }


def written(folder: Path) -> Written:
    """What the workers wrote down so far."""
    found = Written()
    under_way: dict[tuple[str, ...], Run] = {}
    for what, task, key, task_id, retries, worker, at in words_of(folder / "runs"):
        place = (task_id, retries, worker)
        if what == "begin":
            under_way[place] = Run(task, key, task_id, worker, float(at))
            found.runs.append(under_way[place])
        elif what == "end":
            under_way[place].end = float(at)
        elif what == "accepted":
            found.accepted[task_id].add(worker)
        else:
            found.done.add(task_id)
    return found


def _members(result: Any) -> Iterator[str]:
    while result is not None:
        for one in getattr(result, "results", None) or [result]:
            yield one.id
        result = result.parent


def _is_excused(task: str, result: Any, written: Written, killed: Mapping[str, float]) -> bool:
    """Whether a kill took a task of a canvas whose tasks ack early: that is how Celery has it."""
    return task == "unique.early" and any(written.is_taken(member, killed) for member in _members(result))


def _all_ended(sent: Sent, folder: Path) -> bool:
    noted, killed = written(folder), dict(sent.kills)
    return all(result.ready() or _is_excused(task, result, noted, killed) for task, result in sent.canvases)


def at_once(runs: list[Run], killed: Mapping[str, float]) -> int:
    """How many runs began while another with their key had not ended."""
    by_key, found = defaultdict(list), 0
    for one in sorted(runs, key=lambda one: one.begin):
        by_key[one.task, one.key].append(one)
    for before, after in (pair for of_key in by_key.values() for pair in pairwise(of_key)):
        ended = before.end if before.end is not None else killed.get(before.worker, float("inf"))
        if after.begin < ended:
            found += 1
            print("at once:", before, after, file=sys.stderr)
    return found


def _figures(sent: Sent, folder: Path) -> dict[str, float]:
    noted = written(folder)
    runs = noted.runs
    killed, by_id = dict(sent.kills), defaultdict(list)
    for one in runs:
        by_id[one.id].append(one)

    def taken(task_id: str) -> bool:
        return noted.is_taken(task_id, killed)

    accepted = [(task, own) for task, own, kept in sent.calls if own == kept]
    lost = [(task, own) for task, own in accepted if not any(one.end is not None for one in by_id[own])]
    refused = [kept for _, own, kept in sent.calls if own != kept]
    never = {kept for kept in refused if not by_id[kept]}
    hung = [(task, result) for task, result in sent.canvases if not result.ready()]
    unexplained = [(task, result) for task, result in hung if not _is_excused(task, result, noted, killed)]
    for task, result in unexplained:
        print("hangs:", task, type(result).__name__, result.id, *_members(result), file=sys.stderr)
    for kept in never:
        print("never ran:", kept, noted.accepted[kept], file=sys.stderr)
    return {
        "kills": len(sent.kills),
        "calls": len(sent.calls),
        "accepted": len(accepted),
        "refused": len(refused),
        "canvases": len(sent.canvases),
        "runs": len(runs),
        "runs of schedules": sum(one.key.startswith("scheduled") for one in runs),
        "runs that kills ended": sum(one.end is None for one in runs),
        "two at once": at_once(runs, killed),
        "lost, acks late": sum(task != "unique.early" for task, _ in lost),
        "lost, acks early, a kill took it": sum(task == "unique.early" and taken(own) for task, own in lost),
        "lost, acks early, no kill took it": sum(task == "unique.early" and not taken(own) for task, own in lost),
        "refused for one that a kill took at its start": sum(taken(kept) for kept in never),
        "refused for one that never ran": sum(not taken(kept) for kept in never),
        "canvases that hang": len(unexplained),
        "canvases of early tasks that kills ended": len(hung) - len(unexplained),
    }


def main(asked: argparse.Namespace) -> Result:
    """Runs it and shows the figures."""
    with tempfile.TemporaryDirectory() as folder:
        found = run(Path(folder), asked)
    bad = ("two at once", "lost, acks late", "lost, acks early, no kill took it", "refused for one that never ran")
    bad += ("canvases that hang", "keys left", "messages left", "dead", "put right")
    some = ("kills", "accepted", "refused", "canvases")
    return Result(found, judged(found, none=bad, some=some))


OPTIONS = [
    option("--seconds", 120.0),
    option("--kill-every", 4.0),
    option("--keys", 12),
    option("--rate", 25.0, "calls a second"),
    option("--seed", 1),
    option("--workers", len(CREW), "the first so many of the four"),
]
