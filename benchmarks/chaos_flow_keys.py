"""Do the limits of each flow key of a task hold while workers are killed, and does no key hold up another?

Question: a task with ``key_rate_limit`` and one with ``key_max_in_flight=1``, a backlog for each of some tenants,
    twenty times as large for the first; one call of a new tenant, and twenty of a task without limits, published each
    second; four workers (two prefork, threads, solo), one of them killed with -9 every few seconds and started again.
    How many starts of a tenant are in its fullest second, how many of it run at once, how late are the new tenants and
    the others, does each task run? And what does a claim cost beside 100 000 live keys, and beside none, in one run;
    what does a key take? With --early-acks the task with ``key_max_in_flight=1`` is acknowledged when it starts: does
    it never run twice, how many do kills lose, and is nothing held in the end?
Machine: whatever runs it.
Command: make chaos NAME=flow-keys
Result: a table and one JSON line; exit code 0 only if no second of a tenant had more starts than the limit and one,
    none ran twice at once, and each task ran.
"""

from __future__ import annotations

import argparse
import tempfile
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.limits_rig import (
    OTHER_SECONDS,
    OTHERS,
    START_SECONDS,
    Notes,
    claims,
    cpu_us,
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
from delayhub.engine.task_name import KEY_MARK
from delayhub.local.redis_server import RedisServer

#: How much larger the backlog of the first tenant is.
BUSY = 20


def run(folder: Path, asked: argparse.Namespace) -> dict[str, float]:
    """The figures of one run."""
    usual = asked.rate * asked.seconds
    backlog = {f"t{number}": usual * (BUSY if number == 0 else 1) for number in range(asked.tenants)}
    published: dict[str, dict[int, float]] = {"work": {}, "keyed-new": {}}
    notes, acks = Notes(folder), "early" if asked.early_acks else "late"
    with crowd(folder, acks=acks, rate="1000/s", key_rate=f"{asked.rate}/s") as made:
        shop, connection = made.shop, made.connection
        for tenant, count in backlog.items():
            for number in range(count):
                shop.keyed.apply_async([tenant, number], connection=connection)
            for number in range(asked.seconds):
                shop.tally.apply_async([tenant, number], connection=connection)
        for number, now in made.turns(asked):
            published["work"][number] = now
            shop.work.apply_async([number, OTHER_SECONDS], connection=connection)
            if number % OTHERS == 0:
                published["keyed-new"][number] = now
                shop.keyed.apply_async(["new", number], flow_key=f"new-{number}", connection=connection)

        def left() -> int:
            """How many have not run; of the first tenant, whose backlog is longer, as many count as of others."""
            of_others = sum(len(of_task) - len(notes.numbers(name)) for name, of_task in published.items())
            of_keyed = sum(max(0, usual - len(notes.numbers(f"keyed-{tenant}"))) for tenant in backlog)
            return of_others + of_keyed + sum(asked.seconds - len(notes.numbers(f"tally-{each}")) for each in backlog)

        is_soon(lambda: not left(), within_seconds=60 + 2 * asked.seconds)
        held = held_at_the_end(made.client, task="limits.tally") if asked.early_acks else 0
        healed = put_right(made.client)
    begin = published["work"][0]
    found: dict[str, float] = {
        "tenants": asked.tenants,
        "limit a second of each": asked.rate,
        "kills": len(made.fleet.kills),
    }
    found |= {"never run": left(), "put right": healed}
    found |= of_tenants(notes, backlog, begin + asked.seconds + START_SECONDS)
    if asked.early_acks:
        found |= of_early_acks(notes, backlog) | {"held at the end": held}
    for name, of_task in published.items():
        found |= {f"{name} {what}": ms for what, ms in notes.lateness(name, of_task).items()}
    return found


def of_early_acks(notes: Notes, backlog: Mapping[str, int]) -> dict[str, float]:
    """What became of the tasks that are acknowledged when they start."""
    begun = [(tenant, number) for tenant in backlog for number, _ in notes.starts(f"tally-{tenant}")]
    ended = {(tenant, number) for tenant in backlog for number, _ in notes.starts(f"tally-{tenant}ed")}
    return {"lost to kills": len(set(begun) - ended), "run twice": len(begun) - len(set(begun))}


def of_tenants(notes: Notes, backlog: Mapping[str, int], end: float) -> dict[str, float]:
    """How many starts in a second, and how many runs at once, tenants had."""
    fullest, a_second = [], []
    for tenant in backlog:
        times = notes.times(f"keyed-{tenant}")
        fullest.append(most_in_a_second(times))
        # From its first start on, for as long as it surely had a backlog.
        until = min(end, times[-1])
        a_second.append((bisect_left(times, until) - 1) / (until - times[0]))
    return {
        "most starts of a tenant in a second": max(fullest),
        "starts a second of the busy tenant": round(a_second[0], 2),
        "starts a second of the others, least": round(min(a_second[1:]), 2),
        "most of a tenant at once": max(notes.most_at_once(f"tally-{tenant}") for tenant in backlog),
    }


def cost(keys: int) -> dict[str, float]:
    """What a claim of 20 costs Redis' CPU beside so many live keys and beside none, and what a key takes."""
    found: dict[str, float] = {"live keys": keys}
    each_key = "bench.keyed" + KEY_MARK
    with RedisServer(append_only=False) as server, server.client() as client:
        queue = DelayQueue(client, "q")
        found["µs, claim of 20 without keys, no limits"] = claims(queue)
        set_limits(queue, DECLARED, {each_key: Limit(10**6)})
        found["µs, claim of 20 without keys, beside no key"] = claims(queue)
        _publish(queue, 20_000)
        found["µs, claim of 20 of as many keys, beside no key"] = _keyed_claims(queue, 100)
        queue.purge()
        _publish(queue, keys)
        before = _used(client)
        took, worst = parking(queue)
        found["µs, to park a message of each key"] = round(took / keys, 2)
        found["ms, worst call"] = worst
        found["bytes, a live key with one parked message"] = round((_used(client) - before) / keys)
        found["µs, claim of 20 without keys, beside all these"] = claims(queue)
        found["µs, claim of 20 of as many keys, beside all these"] = _keyed_claims(queue, 200)
        found["bytes, a key that is at its limit, until it may start again"] = round(
            sum(client.memory_usage(name) or 0 for name in list(client.scan_iter("*:tat", count=1000))[:200]) / 200
        )
    return found


def _publish(queue: DelayQueue, count: int) -> None:
    payload = b'{"headers":{"task":"bench.keyed","x-delayhub-key":"customer-%d"},"body":""}'
    queue.schedule([Entry(f"{count}-{number}", payload=payload % number) for number in range(count)])


def _keyed_claims(queue: DelayQueue, rounds: int) -> float:
    began = cpu_us(queue.client)
    for _ in range(rounds):
        entries = queue.claim(20, free=20).entries
        queue.acknowledge([queue.lease(entry.id, entry.token) for entry in entries])
        if len(entries) != 20:
            raise RuntimeError(f"a claim gave {len(entries)} messages, not 20")
    return round((cpu_us(queue.client) - began) / rounds, 1)


def _used(client: Any) -> float:
    return float(client.info("memory")["used_memory"])


def main(asked: argparse.Namespace) -> Result:
    """Runs both parts and shows what they found."""
    found: dict[str, dict[str, float]] = {}
    if asked.only != "cost":
        with tempfile.TemporaryDirectory() as folder:
            found["kills"] = run(Path(folder), asked)
    if asked.only != "kills":
        found["cost"] = cost(asked.keys)
    of_kills = found.get("kills")
    must_be_0 = ("never run", "put right", "run twice", "held at the end")
    good = of_kills is None or (
        not any(of_kills.get(name) for name in must_be_0)
        and of_kills["most starts of a tenant in a second"] <= asked.rate + 1
        and of_kills["most of a tenant at once"] <= 1
    )
    return Result(found, good)


OPTIONS = [
    option("--rate", 2),
    option("--tenants", 6),
    option("--seconds", 60),
    option("--kill-every", 5.0),
    option("--seed", 1),
    option("--keys", 100_000),
    option("--only", choices=["kills", "cost"]),
    option("--early-acks", action="store_true", help="of the task of which one of a tenant runs at once"),
]
