"""Do a task's ``rate_limit`` and another's ``max_in_flight`` hold over all workers while these are killed?

Question: a task with ``rate_limit`` and one with ``max_in_flight``, both with a backlog, other tasks published all the
    while (one of 25 takes 3 s), four workers (two prefork, threads, solo), one of them killed with -9 every few seconds
    and started again: how many starts are in the fullest second, and how many in all; how many of the second run at
    once, at most; how late do the others start, beside a run without the backlogs; does each task run? And what does a
    claim cost beside 100 000 tasks with parked messages? With --early-acks the second task is acknowledged when it
    starts: does it never run twice, how many do kills lose, and is nothing held in the end?
Machine: whatever runs it.
Command: make chaos NAME=limits
Result: a table and one JSON line; exit code 0 only if no second had more starts than the limit and one, no more ran at
    once than may, all others had no less than the limit less one and what the kills took, and each task ran. With
    --only-backlog, for busy machines, seconds count by what Redis let start in them.
"""

from __future__ import annotations

import argparse
import tempfile
from bisect import bisect_left
from pathlib import Path
from typing import Any

from benchmarks.limits_rig import (
    OTHER_SECONDS,
    SLOTS,
    Notes,
    Permits,
    claims,
    crowd,
    held_at_the_end,
    most_in_a_second,
    parking,
    put_right,
)
from benchmarks.processes import is_soon
from benchmarks.result import Result, option
from delayhub.engine import DelayQueue, Entry
from delayhub.engine.limits import DECLARED, Limit, set_limits
from delayhub.local.redis_server import RedisServer

#: How many of the task with ``max_in_flight`` run at once, and how many of it there are for each second of the run.
AT_ONCE, REPORTS = 2, 3
#: Every SLOW_EVERY-th of the other tasks takes so long.
SLOW_EVERY, SLOW_SECONDS = 25, 3.0


def run(folder: Path, asked: argparse.Namespace, *, backlog: int) -> dict[str, float]:
    """The figures of one run."""
    folder.mkdir()
    published: dict[int, float] = {}
    reports = REPORTS * asked.seconds if backlog else 0
    notes, acks = Notes(folder), "early" if asked.early_acks else "late"
    limits = {"rate": f"{asked.rate}/s", "at_once": str(AT_ONCE)}
    with (
        crowd(folder, acks=acks, lease=asked.lease, **limits) as made,
        Permits(made.client, queue="celery", task="limits.mail") as permits,
    ):
        shop, connection = made.shop, made.connection
        for number in range(backlog):
            shop.mail.apply_async([number], connection=connection)
        for number in range(reports):
            shop.report.apply_async([number], connection=connection)
        for number, now in made.turns(asked):
            published[number] = now
            pause = SLOW_SECONDS if number % SLOW_EVERY == 0 else OTHER_SECONDS
            shop.work.apply_async([number, pause], connection=connection)
        wanted = {"mail": backlog, "report" if asked.early_acks else "reported": reports, "work": len(published)}
        is_soon(
            lambda: all(len(notes.numbers(name)) == count for name, count in wanted.items()),
            within_seconds=backlog / asked.rate * 2 + 60,
        )
        held = held_at_the_end(made.client) if asked.early_acks else 0
        healed = put_right(made.client)
    found: dict[str, float] = {
        "limit a second": asked.rate,
        "kills": len(made.fleet.kills),
        "never run": sum(count - len(notes.numbers(name)) for name, count in wanted.items()),
        "may run at once": AT_ONCE,
        # A lease is renewed when a third of it has passed, so what is left of it is more than this.
        "most at once": notes.most_at_once(lasts_at_most=asked.lease / 2),
        "reports": reports,
        "others": len(notes.numbers("work")),
        **{f"others {name}": ms for name, ms in notes.lateness("work", published).items()},
        **of_seconds(notes.times("mail"), asked.rate),
        "permits": len(permits.times),
        "most permits in a second": most_in_a_second(permits.times),
        "put right": healed,
    }
    if asked.early_acks:
        begun = [number for number, _ in notes.starts("report")]
        found |= {
            "lost to kills": len(set(begun)) - len(notes.numbers("reported")),
            "run twice": len(begun) - len(set(begun)),
            "held at the end": held,
        }
    return found


def of_seconds(mails: list[float], rate: int) -> dict[str, float]:
    """How many starts of the task with ``rate_limit`` seconds had."""
    if not mails:
        return {}
    # Until the backlog ends there is always one to start; the last seconds are not whole.
    inner = [at for at in mails if mails[0] + 1.0 <= at <= mails[-1] - 1.0]
    whole = int(inner[-1] - inner[0])
    seconds = [bisect_left(mails, inner[0] + n + 1) - bisect_left(mails, inner[0] + n) for n in range(whole)]
    return {
        "starts": len(mails),
        "most starts in a second": most_in_a_second(mails),
        "starts a second": round((len(inner) - 1) / (inner[-1] - inner[0]), 3),
        "fewest in a second": min(seconds),
        "seconds below the limit less one": sum(count < rate - 1 for count in seconds),
        "seconds": whole,
    }


def cost(keys: int) -> dict[str, float]:
    """What Redis' CPU a claim of 20 costs beside so many tasks with parked messages, and what these take."""
    found: dict[str, float] = {"tasks with parked messages": keys}
    with RedisServer(append_only=False) as server, server.client() as client:
        queue = DelayQueue(client, "q")
        found["µs, claim of 20, no limits"] = claims(queue)
        set_limits(queue, DECLARED, {"bench.limited": Limit(10**13)})
        found["µs, claim of 20, limits"] = claims(queue)
        for count, each in ((keys, 1), (keys // 20, 20)):
            tasks = [f"bench.task{each}.{number}" for number in range(count)]
            for start in range(0, count, 500):
                set_limits(queue, DECLARED, dict.fromkeys(tasks[start : start + 500], Limit(10**13)))
            queue.schedule(
                [
                    Entry(f"{task}-{n}", payload=b'{"headers":{"task":"%s"}}' % task.encode())
                    for n in range(each)
                    for task in tasks
                ]
            )
            took, worst = parking(queue)
            found[f"µs, to park a message, {each} a task"] = round(took / (count * each), 2)
            found[f"ms, worst call, {each} a task"] = worst
            found[f"bytes, a parked message, {each} a task"] = round(bytes_of_a_task(client, queue, tasks) / each, 1)
        found["µs, claim of 20, beside all these"] = claims(queue)
    return found


def bytes_of_a_task(client: Any, queue: DelayQueue, tasks: list[str]) -> float:
    """What Redis keeps of a task for its parked messages."""
    keys = [queue.keys.parked_by(task) for task in tasks[:1000]]
    of_sets = sum(client.memory_usage(key) or 0 for key in keys) / len(keys)
    return float(of_sets + (client.memory_usage(queue.keys.open, samples=0) or 0) / len(queue.parking_tasks()))


def main(asked: argparse.Namespace) -> Result:
    """Runs it with a backlog and without, and shows both."""
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        if not asked.only_backlog:
            runs["no backlog"] = run(Path(folder) / "none", asked, backlog=0)
        runs["backlog"] = found = run(Path(folder) / "backlog", asked, backlog=asked.rate * asked.seconds)
    runs["cost"] = cost(asked.keys)
    holds = (
        found["never run"] == 0
        and found["put right"] == 0
        # By Redis' clock, so this is the same on a busy machine. A start without a permit would not be among them.
        and found["most permits in a second"] <= asked.rate + 1
        and found["permits"] >= found["starts"]
        # A task notes its start late where the machine is busy. But each process has one at most that was let start and
        # has not noted it: only free processes get any.
        and found["most starts in a second"] <= asked.rate + 1 + SLOTS
        and found["most at once"] <= AT_ONCE
    )
    steady = (
        found["most starts in a second"] <= asked.rate + 1
        and not (found.get("run twice", 0) or found.get("held at the end", 0))
        # Of each killed worker, at most what ran at once.
        and found.get("lost to kills", 0) <= AT_ONCE * found["kills"]
        # A worker that is killed takes the permits of what it was about to start, and some seconds of its processes.
        and found["seconds below the limit less one"] <= 2 * found["kills"]
    )
    # The little run is for machines that are busy with other tests: there single seconds say nothing about the limit.
    return Result(runs, holds and (steady or asked.only_backlog))


OPTIONS = [
    option("--rate", 10),
    option("--seconds", 60),
    option("--kill-every", 5.0),
    option("--seed", 1),
    option("--only-backlog", action="store_true", help="without the run to compare with"),
    option("--early-acks", action="store_true", help="of the task of which only so many run at once"),
    option("--lease", 3.0, "seconds after which what was killed runs again"),
    option("--keys", 100_000),
]
