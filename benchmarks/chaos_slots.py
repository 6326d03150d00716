"""Do limits and unique keys hold in a queue of many slots while masters of the cluster are killed?

Question: one queue of 8 slots on three masters with a replica each; a task with ``rate_limit`` and one with
    ``max_in_flight``, both with a backlog, and calls of a unique task over a few keys; two workers (prefork, threads).
    The master of the first task's slot is killed with -9, then that of the second's. How many starts are in the fullest
    second, how many of the second run at once, do two runs of a unique key, does each run once, and in its turn, and is
    anything left?
Machine: whatever runs it. A node is called failed after 1.5 s.
Command: a part of make chaos NAME=cluster; alone by OPTIONS="--only limits"
Result: the figures, and whether they are as they must be.
Caveat: tasks are acknowledged late, and leases last longer than a failover.
"""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path
from typing import Any

from benchmarks.chaos_limits import REPORTS
from benchmarks.chaos_unique import at_once, written
from benchmarks.limits_rig import APP, Notes, most_in_a_second
from benchmarks.processes import Fleet, is_soon, told
from delayhub.engine import EngineOptions
from delayhub.engine.key_holders import look_at_keys
from delayhub.engine.lane_tag import slot_lane, slot_of, tag
from delayhub.engine.queue_slots import QueueSlots, ask_slots
from delayhub.engine.spread_queue import find_queue
from delayhub.local.redis_server import RedisServer
from delayhub.redis_cluster import client_of, cluster_pool
from tests.cluster import LocalCluster
from tests.waiting import wait_until

QUEUE, SLOTS = "celery", 8
RATE, AT_ONCE, KEYS = 10, 2, 12
LIMITED = ("limits.mail", "limits.report")
LEASE_SECONDS = 15
#: Calls of the unique task a second; of those whose key is taken nothing is stored.
CALLS = 20
#: How long a failover, and the tasks that are left at the end, are waited for.
PATIENCE_SECONDS = 180.0
CREW = ("-P prefork -c 4", "-P threads -c 4")


def run(folder: Path, *, seconds: int) -> tuple[dict[str, float], bool]:
    """The figures of a run of so many seconds, and whether they are as they must be."""
    folder.mkdir(parents=True)
    mails, reports = RATE * seconds, REPORTS * seconds
    killing, accepted, slowest = list[Future[None]](), list[str](), 0.0
    with (
        LocalCluster(masters=3, replicas=1) as cluster,
        ThreadPoolExecutor(1) as killer,
        told(
            SHOP_BROKER=cluster.url,
            SHOP_FOLDER=str(folder),
            SHOP_CONF=f'{{"broker_transport_options": {{"lease_seconds": {LEASE_SECONDS}}}}}',
            LIMITS_RATE=f"{RATE}/s",
            LIMITS_AT_ONCE=str(AT_ONCE),
        ),
    ):
        client = client_of(cluster_pool(cluster.url, timeout_seconds=30))
        ask_slots(client, QUEUE, QueueSlots(), prefix="", number=SLOTS)
        from benchmarks import limits_shop as shop

        queue = find_queue(client, QUEUE, options=EngineOptions())
        with Fleet(folder, APP, CREW):
            wait_until(lambda: set(LIMITED) <= {name.decode() for name in client.hkeys(queue.keys.limited)})
            for number in range(mails):
                shop.mail.delay(number)
            for number in range(reports):
                shop.report.delay(number)
            # In how many slots the backlogs of the tasks with limits are.
            spread = sum(part.count().ready + part.count().parked > 0 for part in queue.parts)
            begin = time.monotonic()
            while (passed := time.monotonic() - begin) < seconds:
                if len(killing) < len(LIMITED) and passed > seconds * (len(killing) + 1) / 4:
                    killing.append(killer.submit(_kill_the_master_of, LIMITED[len(killing)], cluster))
                number, asked = len(accepted), time.monotonic()
                result = shop.single.apply_async([f"key{number % KEYS}", 0.3])
                slowest = max(slowest, time.monotonic() - asked)
                accepted.append(result.id)
                time.sleep(1 / CALLS)
            kills = sum(each.result() is None for each in killing)
            is_soon(
                lambda: not any(queue.count()) and not client.exists(queue.keys.parked), within_seconds=PATIENCE_SECONDS
            )
            left = {"messages left": sum(queue.count()), "keys left": sum(map(_unique_left, queue.parts))}
    notes, singles = Notes(folder), written(folder).runs
    ran = [Counter(number for number, _ in notes.starts(name)) for name in ("mail", "reported")]
    ran.append(Counter(run.id for run in singles))
    found: dict[str, float] = {
        "kills": kills,
        "slowest publish s": round(slowest, 1),
        "slots of limited tasks": spread,
        "mails": mails,
        "reports": reports,
        "unique calls": len(accepted),
        "unique ids": len(set(accepted)),
        "never run": mails + reports + len(set(accepted)) - sum(map(len, ran)),
        "ran twice": sum(count - 1 for of_task in ran for count in of_task.values()),
        "limit a second": RATE,
        "most starts in a second": most_in_a_second(notes.times("mail")),
        "furthest out of order": _furthest_back(notes),
        "may run at once": AT_ONCE,
        "most at once": notes.most_at_once(lasts_at_most=LEASE_SECONDS),
        "unique keys twice at once": at_once(singles, {}),
        **left,
    }
    must_be_0 = ("never run", "ran twice", "unique keys twice at once", "messages left", "keys left")
    good = not any(found[name] for name in must_be_0) and found["slots of limited tasks"] == len(LIMITED)
    return found, good and found["most starts in a second"] <= RATE + 1 and found["most at once"] <= AT_ONCE


def _furthest_back(notes: Notes) -> int:
    """By how many places a start of the task with ``rate_limit`` came after that of a later message."""
    numbers = [number for number, _ in sorted(notes.starts("mail"), key=lambda each: each[1])]
    return max((most - number for most, number in zip(accumulate(numbers, max), numbers, strict=True)), default=0)


def _unique_left(part: Any) -> int:
    return (
        len(look_at_keys(part, limit=1000).found)
        + int(part.client.exists(part.keys.unique))
        + int(part.client.exists(part.keys.followers))
    )


def _kill_the_master_of(task: str, cluster: LocalCluster) -> None:
    """kill -9 to the master of a task's slot; it comes back as a replica while the run goes on."""
    kill_the_master_of(cluster, tag(slot_lane(QUEUE, slot_of(task, SLOTS))))


def kill_the_master_of(cluster: LocalCluster, key: str) -> None:
    """kill -9 to the master of a key's slot; once another has taken its place, it comes back as a replica.

    It returns when that replica has all of its master's data: before, a kill of that one would take some.
    """
    node = cluster.owner(key)
    with node.client() as client:
        wait_until(lambda: client.info("replication")["connected_slaves"] >= 1)
    node.kill()
    wait_until(lambda: _has_other_owner(cluster, key, node))
    node.start()
    with node.client() as client:
        wait_until(lambda: client.info("replication").get("master_link_status") == "up")


def _has_other_owner(cluster: LocalCluster, key: str, node: RedisServer) -> bool:
    try:
        return cluster.owner(key) is not node
    except LookupError:
        return False
