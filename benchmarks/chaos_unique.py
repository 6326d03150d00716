"""Do two calls with the same unique key ever run at once while workers are killed, and is any of them lost?

Question: calls through ``send_task``, groups, chords, chains, retries and schedules (two beats), over a few keys, acked
    early and late; four workers (two prefork, threads, solo), one of them killed with -9 every few seconds and started
    again. Does a run begin while another with its key has not ended, is an accepted call lost, does a canvas not end,
    is a key still taken when all is done, and for how long is a key taken after the end of its task?
Machine: whatever runs it.
Command: make chaos NAME=unique
Result: a table and one JSON line; exit code 0 only if no two ran at once, nothing that acks late was lost, each canvas
    of such tasks ended, no key is left, and of tasks that ack early only those did not end which a killed worker had
    accepted and was not done with.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.children import run_main
from delayhub.celery_support.backlog import backlogs
from delayhub.engine import DelayQueue
from delayhub.engine.unique import taken_keys
from delayhub.local.redis_server import RedisServer

#: Of each worker: its pool, its size, whether it has a beat.
WORKERS = (("prefork", 2, True), ("prefork", 2, False), ("threads", 3, True), ("solo", 1, False))
LEASE_SECONDS = 10.0
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

    calls: list[tuple[str, str, str, float]] = field(default_factory=list)  # task, own id, kept id, when
    canvases: list[tuple[str, Any]] = field(default_factory=list)
    kills: list[tuple[str, float]] = field(default_factory=list)


class Workers:
    """The four workers of a run; each start has a name of its own."""

    def __init__(self, folder: Path, *, number: int) -> None:
        self.folder = folder
        self.names: list[str] = []
        self.alive = [self._start(each) for each in range(number)]

    def _start(self, number: int, *, has_beat: bool = True) -> subprocess.Popen[bytes]:
        pool, size, beats = WORKERS[number]
        name = f"w{number}x{uuid4().hex[:6]}@here"
        self.names[number : number + 1] = [name]
        command = [
            sys.executable,
            "-m",
            "celery",
            "-A",
            "benchmarks.unique_shop",
            "worker",
            "-P",
            pool,
            "-c",
            str(size),
        ]
        command += ["-n", name, "-l", "WARNING", "--without-gossip", "--without-mingle"]
        command += ["-B"] if beats and has_beat else []
        environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
        log = (self.folder / f"worker{number}.log").open("ab")
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def kill(self, number: int, *, has_beat: bool = True) -> tuple[str, float]:
        """Kills a worker with all its processes and starts it again; its name, and when it was gone."""
        name = self.names[number]
        os.killpg(self.alive[number].pid, 9)
        self.alive[number].wait()
        gone = time.time()  # noqa: TID251  compared with what the tasks wrote
        self.alive[number] = self._start(number, has_beat=has_beat)
        return name, gone


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
        began = time.time()  # noqa: TID251  as above
        countdown = chance.choice((None, None, 0.5))
        result = shop.app.send_task(task.name, arguments, task_id=own, countdown=countdown)
        sent.calls.append((task.name, own, result.id, began))
        return
    task = chance.choice((shop.late, shop.early))
    canvases = (
        lambda: group(pick(task), pick(task)).apply_async(),
        lambda: chord([pick(task), pick(task)], shop.total.s()).apply_async(),
        lambda: chain(immutable(task), immutable(task), immutable(task)).apply_async(),
    )
    sent.canvases.append((task.name, chance.choice(canvases)()))


def run(
    folder: Path, *, seconds: float, kill_every: float, keys: int, rate: float, seed: int, number: int
) -> dict[str, float]:
    """The figures of one run."""
    chance = random.Random(seed)
    with RedisServer(append_only=False) as server, server.client() as client:
        os.environ.update(
            UNIQUE_BROKER=f"delayhub://127.0.0.1:{server.port}/0",
            UNIQUE_RESULTS=f"redis://127.0.0.1:{server.port}/1",
            UNIQUE_FOLDER=str(folder),
            UNIQUE_LEASE=str(LEASE_SECONDS),
        )
        from benchmarks import unique_shop as shop

        sent, workers = Sent(), Workers(folder, number=number)
        queue = DelayQueue(client, "celery")
        try:
            end, next_kill = time.monotonic() + seconds, time.monotonic() + kill_every + 3.0
            while (now := time.monotonic()) < end:
                publish(shop, chance, sent, keys=keys)
                if now >= next_kill:
                    sent.kills.append(workers.kill(chance.randrange(number)))
                    next_kill = now + kill_every
                time.sleep(1 / rate)
            # The beats end with their workers, so that the rest can be waited for.
            sent.kills += [workers.kill(each, has_beat=False) for each in range(number) if WORKERS[each][2]]
            deadline = time.monotonic() + DRAIN_SECONDS
            while (any(queue.count()) or not _all_ended(sent, folder)) and time.monotonic() < deadline:
                time.sleep(0.5)
            left = taken_keys(queue)
            found = _figures(sent, folder, queue)
            found |= {
                "keys left": len(left) + client.exists(queue.keys.unique, queue.keys.followers),
                "messages left": sum(queue.count()),
                "dead": queue.count().dead,
                "put right": backlogs(client, [queue])[queue.name].healed,
            }
        finally:
            for process in workers.alive:
                os.killpg(process.pid, 9)
                process.wait()
    return found


def _written(folder: Path) -> Written:
    found = Written()
    under_way: dict[tuple[str, ...], Run] = {}
    lines = (folder / "runs").read_text().splitlines() if (folder / "runs").exists() else []
    for line in lines:
        what, task, key, task_id, retries, worker, at = line.split(" ")
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
    written, killed = _written(folder), dict(sent.kills)
    return all(result.ready() or _is_excused(task, result, written, killed) for task, result in sent.canvases)


def _explain(task: str, result: Any, written: Written, killed: Mapping[str, float], queue: DelayQueue) -> None:
    """Prints what is known of a canvas that did not end."""
    print("hangs:", task, type(result).__name__, result.id, file=sys.stderr)
    for member in _members(result):
        print("  ", _place(queue, member), result.app.AsyncResult(member).state, end=" ", file=sys.stderr)
        print(member, "accepted", written.accepted[member], "done", member in written.done, file=sys.stderr)
        for one in (one for one in written.runs if one.id == member):
            print("      ", one, "killed", killed.get(one.worker), file=sys.stderr)


def _place(queue: DelayQueue, task_id: str) -> str:
    keys, client = queue.keys, queue.client
    names = ("waiting", "leased", "dead")
    found = [name for name in names if client.zscore(getattr(keys, name), task_id) is not None]
    return "/".join(found) or ("stored" if client.hexists(keys.payload, task_id) else "gone")


def _figures(sent: Sent, folder: Path, queue: DelayQueue) -> dict[str, float]:
    written = _written(folder)
    runs = written.runs
    killed, by_id, by_key = dict(sent.kills), defaultdict(list), defaultdict(list)
    for one in runs:
        by_id[one.id].append(one)
        by_key[one.task, one.key].append(one)

    def taken(task_id: str) -> bool:
        return written.is_taken(task_id, killed)

    at_once = 0
    for of_key in by_key.values():
        of_key.sort(key=lambda one: one.begin)
        for before, after in pairwise(of_key):
            ended = before.end if before.end is not None else killed.get(before.worker, float("inf"))
            if after.begin < ended:
                at_once += 1
                print("at once:", before, after, file=sys.stderr)
    accepted = [(task, own) for task, own, kept, _ in sent.calls if own == kept]
    lost = [(task, own) for task, own in accepted if not any(one.end is not None for one in by_id[own])]
    refused = [(kept, at) for _, own, kept, at in sent.calls if own != kept]
    # How long after the last end of the task that has the key a call was refused; 0 where it had not ended.
    ended_at = {
        kept: max(one.end or killed.get(one.worker, 0.0) for one in by_id[kept]) for kept, _ in refused if by_id[kept]
    }
    after_end = [max(0.0, at - ended_at[kept]) for kept, at in refused if kept in ended_at]
    never = {kept for kept, _ in refused if not by_id[kept]}
    hung = [(task, result) for task, result in sent.canvases if not result.ready()]
    unexplained = [(task, result) for task, result in hung if not _is_excused(task, result, written, killed)]
    for task, result in unexplained:
        _explain(task, result, written, killed, queue)
    for kept in never:
        print("never ran:", kept, _place(queue, kept), written.accepted[kept], file=sys.stderr)
    return {
        "kills": len(sent.kills),
        "calls": len(sent.calls),
        "accepted": len(accepted),
        "refused": len(refused),
        "canvases": len(sent.canvases),
        "runs": len(runs),
        "runs of schedules": sum(one.key.startswith("scheduled") for one in runs),
        "runs that kills ended": sum(one.end is None for one in runs),
        "two at once": at_once,
        "lost, acks late": sum(task != "unique.early" for task, _ in lost),
        "lost, acks early, a kill took it": sum(task == "unique.early" and taken(own) for task, own in lost),
        "lost, acks early, no kill took it": sum(task == "unique.early" and not taken(own) for task, own in lost),
        "refused for one that a kill took at its start": sum(taken(kept) for kept in never),
        "refused for one that never ran": sum(not taken(kept) for kept in never),
        "canvases that hang": len(unexplained),
        "canvases of early tasks that kills ended": len(hung) - len(unexplained),
        "refused after the end, s, p50": round(sorted(after_end)[len(after_end) // 2], 3) if after_end else 0.0,
        "refused after the end, s, most": round(max(after_end, default=0.0), 3),
    }


def main() -> int:
    """Runs it and shows the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--kill-every", type=float, default=4.0)
    parser.add_argument("--keys", type=int, default=12)
    parser.add_argument("--rate", type=float, default=25.0, help="calls a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=len(WORKERS), help="the first so many of the four")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = run(
            Path(folder),
            seconds=options.seconds,
            kill_every=options.kill_every,
            keys=options.keys,
            rate=options.rate,
            seed=options.seed,
            number=options.workers,
        )
    for name, value in found.items():
        print(f"{name:44}{value:>10}")
    print(json.dumps(found))
    bad = ("two at once", "lost, acks late", "lost, acks early, no kill took it", "refused for one that never ran")
    return int(
        any(found[name] for name in (*bad, "canvases that hang", "keys left", "messages left", "dead", "put right"))
    )


if __name__ == "__main__":
    sys.exit(run_main(main))
