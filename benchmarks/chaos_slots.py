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

import os
import time
from collections import Counter, defaultdict
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from benchmarks.chaos_limits import REPORTS, Workers, most_at_once, starts, starts_a_second
from delayhub.engine import EngineOptions
from delayhub.engine.lane_tag import slot_lane, slot_of, tag
from delayhub.engine.queue_slots import QueueSlots, ask_slots
from delayhub.engine.spread_queue import find_queue
from delayhub.engine.unique import taken_keys
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
POOLS = (("prefork", 4), ("threads", 4))


def run(folder: Path, *, seconds: int) -> tuple[dict[str, float], bool]:
    """The figures of a run of so many seconds, and whether they are as they must be."""
    folder.mkdir(parents=True)
    with LocalCluster(masters=3, replicas=1) as cluster, ThreadPoolExecutor(1) as killer:
        client = client_of(cluster_pool(cluster.url, timeout_seconds=30))
        ask_slots(client, QUEUE, QueueSlots(), prefix="", number=SLOTS)
        environment = {
            "LIMITS_BROKER": cluster.url,
            "LIMITS_FOLDER": str(folder),
            "LIMITS_RATE": f"{RATE}/s",
            "LIMITS_AT_ONCE": str(AT_ONCE),
            "LIMITS_LEASE": str(LEASE_SECONDS),
        }
        os.environ.update(environment)
        from benchmarks import limits_shop as shop

        queue = find_queue(client, QUEUE, options=EngineOptions())
        workers = Workers(folder, environment, pools=POOLS)
        mails, reports = RATE * seconds, REPORTS * seconds
        killing = list[Future[None]]()
        accepted, slowest = list[str](), 0.0
        try:
            wait_until(lambda: set(LIMITED) <= {name.decode() for name in client.hkeys(queue.keys.limited)})
            for number in range(mails):
                shop.mail.delay(number)
            for number in range(reports):
                shop.report.delay(number)
            spread = _slots_of_limited(queue)
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
            deadline = time.monotonic() + PATIENCE_SECONDS
            while (any(queue.count()) or client.exists(queue.keys.parked)) and time.monotonic() < deadline:
                time.sleep(0.5)
            left = {"messages left": sum(queue.count()), "keys left": sum(map(_unique_left, queue.parts))}
        finally:
            workers.stop()
    found: dict[str, float] = {
        "kills": kills,
        "slowest publish s": round(slowest, 1),
        "slots of limited tasks": spread,
        "mails": mails,
        "reports": reports,
        "unique calls": len(accepted),
        "unique ids": len(set(accepted)),
        "never run": mails + reports + len(set(accepted)) - sum(map(len, map(_ids, [folder] * 3, _NOTED))),
        "ran twice": sum(count - 1 for name in _NOTED for count in _ids(folder, name).values()),
        "limit a second": RATE,
        "most starts in a second": starts_a_second(folder),
        "furthest out of order": _furthest_back(folder),
        "may run at once": AT_ONCE,
        "most at once": most_at_once(folder, lasts_at_most=LEASE_SECONDS),
        "unique keys twice at once": _overlaps(folder),
        **left,
    }
    must_be_0 = ("never run", "ran twice", "unique keys twice at once", "messages left", "keys left")
    good = not any(found[name] for name in must_be_0) and found["slots of limited tasks"] == len(LIMITED)
    return found, good and found["most starts in a second"] <= RATE + 1 and found["most at once"] <= AT_ONCE


_NOTED = ("mail", "reported", "single")


def _ids(folder: Path, name: str) -> Counter[Any]:
    """How often each ran."""
    if name == "single":
        return Counter(line.split()[1] for line in _lines(folder) if line.startswith("begin "))
    return Counter(number for number, _ in starts(folder, name))


def _lines(folder: Path) -> list[str]:
    path = folder / "single"
    return path.read_text().splitlines() if path.exists() else []


def _overlaps(folder: Path) -> int:
    """How many runs of the unique task began while another with their key had not ended."""
    runs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    began: dict[str, float] = {}
    for line in _lines(folder):
        what, task_id, key, at = line.split()
        if what == "begin":
            began[task_id] = float(at)
        else:
            runs[key].append((began.get(task_id, 0.0), float(at)))
    return sum(after[0] < before[1] for found in runs.values() for before, after in pairwise(sorted(found)))


def _furthest_back(folder: Path) -> int:
    """By how many places a start of the task with ``rate_limit`` came after that of a later message."""
    numbers = [number for number, _ in sorted(starts(folder, "mail"), key=lambda each: each[1])]
    return max((most - number for most, number in zip(accumulate(numbers, max), numbers, strict=True)), default=0)


def _slots_of_limited(queue: Any) -> int:
    """In how many slots the backlogs of the tasks with limits are."""
    return sum(part.count().ready + part.count().parked > 0 for part in queue.parts)


def _unique_left(part: Any) -> int:
    return (
        len(taken_keys(part)) + int(part.client.exists(part.keys.unique)) + int(part.client.exists(part.keys.followers))
    )


def _kill_the_master_of(task: str, cluster: LocalCluster) -> None:
    """kill -9 to the master of a task's slot; it comes back as a replica while the run goes on."""
    key = tag(slot_lane(QUEUE, slot_of(task, SLOTS)))
    node = cluster.owner(key)
    with node.client() as client:
        wait_until(lambda: client.info("replication")["connected_slaves"] >= 1)
    node.kill()
    wait_until(lambda: _has_other_owner(cluster, key, node))
    node.start()
    with node.client() as client:  # until it has all of its master's data, a kill of that one would take some
        wait_until(lambda: client.info("replication").get("master_link_status") == "up")


def _has_other_owner(cluster: LocalCluster, key: str, node: Any) -> bool:
    try:
        return cluster.owner(key) is not node
    except LookupError:
        return False
