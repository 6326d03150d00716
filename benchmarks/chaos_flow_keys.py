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
import json
import os
import random
import statistics
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.chaos_limits import (
    OTHER_SECONDS,
    OTHERS,
    POOLS,
    START_SECONDS,
    Workers,
    claims,
    cpu_us,
    held_at_the_end,
    most_at_once,
)
from benchmarks.chaos_limits import starts as starts_of
from benchmarks.children import run_main
from delayhub.celery_support.backlog import backlogs
from delayhub.engine import DelayQueue, Entry
from delayhub.engine.limits import DECLARED, Limit, set_limits
from delayhub.engine.task_name import KEY_MARK
from delayhub.local.redis_server import RedisServer

#: How much larger the backlog of the first tenant is.
BUSY = 20


def run(
    folder: Path, *, rate: int, tenants: int, seconds: int, kill_every: float, seed: int, early_acks: bool = False
) -> dict[str, float]:
    """The figures of one run."""
    chance = random.Random(seed)
    backlog = {f"t{number}": rate * seconds * (BUSY if number == 0 else 1) for number in range(tenants)}
    with RedisServer(append_only=False) as server:
        environment = {
            "LIMITS_BROKER": f"delayhub://127.0.0.1:{server.port}/0",
            "LIMITS_FOLDER": str(folder),
            "LIMITS_RATE": "1000/s",
            "LIMITS_KEY_RATE": f"{rate}/s",
            "LIMITS_AT_ONCE": "2",
            "LIMITS_ACK": "early" if early_acks else "late",
        }
        os.environ.update(environment)
        from benchmarks import limits_shop

        workers = Workers(folder, environment)
        published: dict[str, dict[int, float]] = {"work": {}, "keyed-new": {}}
        kills = 0
        try:
            with limits_shop.app.connection_for_write(environment["LIMITS_BROKER"]) as connection:
                for tenant, count in backlog.items():
                    for number in range(count):
                        limits_shop.keyed.apply_async([tenant, number], connection=connection)
                    for number in range(seconds):
                        limits_shop.tally.apply_async([tenant, number], connection=connection)
                begin = time.time()  # noqa: TID251  compared with what the tasks wrote
                next_kill, number = begin + kill_every, 0
                while (now := time.time()) < begin + seconds + START_SECONDS:  # noqa: TID251  as above
                    published["work"][number] = now
                    limits_shop.work.apply_async([number, OTHER_SECONDS], connection=connection)
                    if number % OTHERS == 0:
                        published["keyed-new"][number] = now
                        limits_shop.keyed.apply_async(["new", number], flow_key=f"new-{number}", connection=connection)
                    number += 1
                    if kill_every and now >= next_kill:
                        workers.kill(chance.randrange(len(POOLS)))
                        kills += 1
                        next_kill += kill_every
                    time.sleep(max(0.0, begin + number / OTHERS - time.time()))  # noqa: TID251  as above
                deadline = time.monotonic() + 60 + 2 * seconds
                while time.monotonic() < deadline and _left(folder, backlog, published, seconds):
                    time.sleep(0.5)
                held = held_at_the_end(server, deadline, task="limits.tally") if early_acks else 0
                with server.client() as client:
                    healed = backlogs(client, [DelayQueue(client, "celery")])["celery"].healed
        finally:
            workers.stop()
    found: dict[str, float] = {"tenants": tenants, "limit a second of each": rate, "kills": kills}
    found |= {"never run": _left(folder, backlog, published, seconds), "put right": healed}
    found |= _of_tenants(folder, backlog, begin, begin + seconds + START_SECONDS)
    if early_acks:
        found |= _of_early_acks(folder, backlog) | {"held at the end": held}
    for name, of_task in published.items():
        first: dict[int, float] = {}
        for number, at in starts_of(folder, name):
            first[number] = min(at, first.get(number, at))
        late = sorted(1000 * (at - of_task[number]) for number, at in first.items())
        found[f"{name} late p50 ms"] = round(statistics.median(late), 1)
        found[f"{name} late p99 ms"] = round(late[int(len(late) * 0.99)], 1)
    return found


def _of_early_acks(folder: Path, backlog: Mapping[str, int]) -> dict[str, float]:
    begun = [(tenant, number) for tenant in backlog for number, _ in starts_of(folder, f"tally-{tenant}")]
    ended = {(tenant, number) for tenant in backlog for number, _ in starts_of(folder, f"tally-{tenant}ed")}
    return {"lost to kills": len(set(begun) - ended), "run twice": len(begun) - len(set(begun))}


def _left(folder: Path, backlog: Mapping[str, int], published: Mapping[str, Mapping[int, float]], tallies: int) -> int:
    """How many tasks have not run; of the first tenant, whose backlog takes longer, those of the others' time count."""
    left = sum(len(of_task) - len({n for n, _ in starts_of(folder, name)}) for name, of_task in published.items())
    for tenant in backlog:
        left += max(0, min(backlog.values()) - len({n for n, _ in starts_of(folder, f"keyed-{tenant}")}))
        left += tallies - len({n for n, _ in starts_of(folder, f"tally-{tenant}")})
    return left


def _of_tenants(folder: Path, backlog: Mapping[str, int], begin: float, end: float) -> dict[str, float]:
    fullest, a_second = [], []
    for tenant in backlog:
        times = sorted(at for _, at in starts_of(folder, f"keyed-{tenant}"))
        fullest.append(max(bisect_left(times, at + 1.0) - number for number, at in enumerate(times)))
        # From its first start on, for as long as it surely had a backlog.
        until = min(end, times[-1])
        a_second.append((bisect_left(times, until) - 1) / (until - times[0]))
    return {
        "most starts of a tenant in a second": max(fullest),
        "starts a second of the busy tenant": round(a_second[0], 2),
        "starts a second of the others, least": round(min(a_second[1:]), 2),
        "most of a tenant at once": max(most_at_once(folder, f"tally-{tenant}") for tenant in backlog),
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
        before, began, worst = _used(client), cpu_us(client), 0.0
        while queue.count().ready:
            call = cpu_us(client)
            queue.claim(100, free=0)
            worst = max(worst, cpu_us(client) - call)
        found["µs, to park a message of each key"] = round((cpu_us(client) - began) / keys, 2)
        found["ms, worst call"] = round(worst / 1000, 2)
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


def main() -> int:
    """Runs both parts and shows what they found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=int, default=2)
    parser.add_argument("--tenants", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--kill-every", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--only", choices=["kills", "cost"])
    parser.add_argument("--early-acks", action="store_true", help="of the task of which one of a tenant runs at once")
    options = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    if options.only != "cost":
        with tempfile.TemporaryDirectory() as folder:
            found["kills"] = run(
                Path(folder),
                rate=options.rate,
                tenants=options.tenants,
                seconds=options.seconds,
                kill_every=options.kill_every,
                seed=options.seed,
                early_acks=options.early_acks,
            )
    if options.only != "kills":
        found["cost"] = cost(options.keys)
    for part in found.values():
        for name, value in part.items():
            print(f"{name:64}{value:>12}")
    print(json.dumps(found))
    of_kills = found.get("kills")
    if of_kills is None:
        return 0
    good = (
        of_kills["never run"] == of_kills["put right"] == 0
        and of_kills["most starts of a tenant in a second"] <= options.rate + 1
        and of_kills["most of a tenant at once"] <= 1
        and of_kills.get("run twice", 0) == 0
        and of_kills.get("held at the end", 0) == 0
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(run_main(main))
