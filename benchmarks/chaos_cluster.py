"""What is lost, and what runs twice, when masters of a Redis Cluster are killed and slots move under load?

Question: of 10 000 tasks on six queues, half of them with a countdown of up to 20 s, how many never run, and how many
    more than once, while a node is added, a queue's slot is moved to it in one step, another is moved key by key, and
    two masters are killed with -9 and come back as replicas? Three of the queues are cut into 4 slots, and one of these
    into 16 while tasks are there;
    WAIT: the same where publishers wait until one replica has their task;
    jobs: of 1 500 jobs of a whole site whose timers are in a cluster, created by REST (some are cancelled, some moved,
        some fail twice, some always), how many are lost, early, delivered though cancelled or in a wrong status, while
        the lane's slot is moved in both ways, its master and the worker are killed, and all timers are wiped?
Machine: whatever runs it; three masters and three replicas, two more that are added; two workers (threads, prefork),
    one producer. A node is called failed after 1.5 s.
Command: make chaos NAME=cluster
Result: a table and one JSON line; exit code 0 only if with WAIT nothing was lost, and nothing came early.
Caveat: tasks are acknowledged late; a callback under way when its worker is killed may come twice. Valkey 9 is needed
    for the move in one step; other servers move that slot by keys.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from redis.crc import key_slot
from redis.exceptions import ResponseError

from benchmarks.chaos_crowd import Crowd
from benchmarks.processes import is_soon
from benchmarks.result import Result, judged, option
from delayhub.demo.demo import NO_BREAKER
from delayhub.demo.receiver import read_received
from delayhub.demo.scenario import plan
from delayhub.demo.site import Site, SiteOptions
from delayhub.engine import Counts, EngineOptions, SystemClock
from delayhub.engine.lane_tag import slot_lane, tag
from delayhub.engine.queue_slots import QueueSlots, ask_slots
from delayhub.engine.spread_queue import find_queues
from delayhub.redis_cluster import client_of, cluster_pool
from tests.acceptance.site import SHORT_LEASES, create_on, wait_until_all_ended
from tests.cluster import LocalCluster, node_id
from tests.waiting import wait_until

QUEUES = tuple(f"chaos-{number}" for number in range(6))
#: Those of them that are cut into slots.
SLOTTED = QUEUES[:3]
#: The timer lane of a site.
TIMER_LANE = "delayhub.timers"
DRAIN_SECONDS = 180.0
#: Of none of these may there be any job.
WRONG = (
    "lost",
    "wrong status",
    "delivered though cancelled",
    "succeeded, receiver says no",
    "wrong signatures",
    "early",
)


class Moves:
    """A cluster, and what is done to it."""

    def __init__(self, cluster: LocalCluster, *, note: Callable[..., None], lanes: Sequence[str]) -> None:
        self.cluster = cluster
        self.note = note
        self.tags = [tag(lane) for lane in lanes]

    def add_a_node(self) -> None:
        """Two more nodes, one the other's replica; the first lane's slot is moved there in one step."""
        master, replica = (self.cluster.make_node().start() for _ in range(2))
        for node in (master, replica):
            self.cluster.meet(node)
            self.cluster.masters.append(node)
        with master.client() as client, replica.client() as follower:
            master_id = node_id(client)
            wait_until(lambda: master_id in str(follower.execute_command("CLUSTER NODES")))
            follower.execute_command("CLUSTER REPLICATE", master_id)
            wait_until(lambda: follower.info("replication")["master_link_status"] == "up")
        self.cluster.masters.remove(replica)
        self.cluster.replicas.append(replica)
        source, slot = self.cluster.owner(self.tags[0]), key_slot(self.tags[0].encode())
        try:
            self.cluster.migrate_slot(slot, source=source, target=master)
            self.note("slot moved in one step")
        except ResponseError:
            self.cluster.move_slot(slot, source=source, target=master)
        self.note("node added")

    def move_a_slot(self) -> None:
        """The slot of the second lane goes to another node, key by key, as redis-cli does it."""
        source = self.cluster.owner(self.tags[1])
        target = next(node for node in self.cluster.masters[:3] if node.pid is not None and node is not source)
        self.cluster.move_slot(key_slot(self.tags[1].encode()), source=source, target=target, batch=1)
        self.note("slot moved by keys")

    def kill_a_master(self, queue: str) -> None:
        """kill -9 to the master of a queue."""
        self.note("master killed", strands=True)
        kill_the_master_of(self.cluster, f"{{{queue}}}")


def kill_the_master_of(cluster: LocalCluster, key: str) -> None:
    """kill -9 to the master of a key's slot; once another has taken its place, it comes back as a replica.

    It returns when that replica has all of its master's data: before, a kill of that one would take some.
    """
    node = cluster.owner(key)

    def has_other_owner() -> bool:
        try:
            return cluster.owner(key) is not node
        except LookupError:
            return False

    with node.client() as client:
        wait_until(lambda: client.info("replication")["connected_slaves"] >= 1)
    node.kill()
    wait_until(has_other_owner)
    node.start()
    with node.client() as client:
        wait_until(lambda: client.info("replication").get("master_link_status") == "up")


def run(folder: Path, options: argparse.Namespace, *, wait: bool) -> tuple[dict[str, int], bool]:
    """The figures of a run, and whether they are as they must be."""
    own: dict[str, object] = {"failover_seconds": 30}
    if wait:
        own |= {"wait_replicas": 1, "wait_seconds": 1}
    with LocalCluster(masters=3, replicas=1) as cluster:
        client = client_of(cluster_pool(cluster.url, timeout_seconds=30))

        def count() -> Counts:
            queues = find_queues(client, QUEUES, options=EngineOptions())
            return Counts(*map(sum, zip(*(queue.count() for queue in queues), strict=True)))

        for name in SLOTTED:
            ask_slots(client, name, QueueSlots(), prefix="", number=4)

        def cut_into_more() -> None:
            ask_slots(client, SLOTTED[1], QueueSlots(), prefix="", number=16)
            crowd.note("queue cut into 16")

        with Crowd(
            folder,
            tasks=options.tasks,
            countdown=options.countdown,
            brokers=[cluster.url] * 3,
            options=own,
            count=count,
            seed=1,
            queues=QUEUES,
        ) as crowd:
            lanes = [slot_lane(SLOTTED[0], 1), slot_lane(SLOTTED[1], 2)]
            moves = Moves(cluster, note=crowd.note, lanes=lanes)
            deeds = [
                (0.15, moves.add_a_node),
                (0.25, cut_into_more),
                (0.35, moves.move_a_slot),
                (0.5, lambda: moves.kill_a_master(QUEUES[2])),
                (0.75, lambda: moves.kill_a_master(QUEUES[0] if options.tasks < 1000 else QUEUES[3])),
            ]
            crowd.carry_out(deeds)
            return crowd.judged(may_lose=not wait)


def run_jobs(folder: Path, options: argparse.Namespace) -> tuple[dict[str, int], bool]:
    """The same of jobs, on a site with SQLite; what is moved and killed is the node of the timer lane."""
    done: Counter[str] = Counter()
    with ExitStack() as stack:
        cluster = stack.enter_context(LocalCluster(masters=3, replicas=1))
        options_of_site = SiteOptions(data_dir=folder, settings={**NO_BREAKER, **SHORT_LEASES}, broker_url=cluster.url)
        with Site(options_of_site) as site:
            # A busy machine creates and changes less than a hundred a second.
            now = datetime.fromtimestamp(SystemClock().now_ms() / 1000 + options.jobs / 75, UTC)
            created = create_on(site, plan(jobs=options.jobs, seconds=options.seconds, now=now, run="chaos"))
            moves = Moves(cluster, note=lambda deed, **_: done.update([deed]), lanes=(TIMER_LANE,) * 2)

            def kill_the_worker() -> None:
                done["worker killed"] += 1
                site.worker.kill()
                site.worker.launch()

            def wipe() -> None:
                done["timers wiped"] += 1
                with cluster.owner(moves.tags[0]).client() as client:
                    client.flushall()

            deeds = [
                moves.add_a_node,
                kill_the_worker,
                moves.move_a_slot,
                wipe,
                lambda: moves.kill_a_master(TIMER_LANE),
            ]
            found = under_deeds(site, created, [*deeds, kill_the_worker])
    return {**found, **done}, judged(found | done, none=WRONG, some=("jobs", "master killed", "worker killed"))


def under_deeds(site: Site, created: Mapping[str, Any], deeds: Sequence[Callable[[], None]]) -> dict[str, int]:
    """Does all of it, evenly over the callbacks; what became of the jobs.

    A deed whose jobs have ended before is done at once.
    """
    callbacks = sum(job.attempts for job in created.values())
    for number, deed in enumerate(deeds, 1):
        wanted = callbacks * number // (len(deeds) + 1)
        is_soon(
            lambda wanted=wanted: sum(1 for _ in read_received(site.folder.received)) >= wanted,
            within_seconds=DRAIN_SECONDS,
        )
        deed()
    jobs = wait_until_all_ended(site, created, within_seconds=DRAIN_SECONDS)
    late = [job.lateness_ms for job in jobs if job.lateness_ms is not None]
    cancelled = [job for job in jobs if job.planned.final_status == "cancelled"]
    return {
        "jobs": len(jobs),
        "callbacks that came twice": sum(max(0, len(job.callbacks) - job.planned.attempts) for job in jobs),
        "lost": sum(len(job.callbacks) < job.planned.attempts for job in jobs),
        "wrong status": sum(job.status != job.planned.final_status for job in jobs),
        "delivered though cancelled": sum(bool(job.callbacks) for job in cancelled),
        "succeeded, receiver says no": sum(job.status == "succeeded" and not job.delivered for job in jobs),
        "wrong signatures": sum(not callback.verified for job in jobs for callback in job.callbacks),
        "early": sum(value < 0 for value in late),
        "latest ms": max(late, default=0),
    }


RUNS = {"tasks": partial(run, wait=False), "tasks, WAIT": partial(run, wait=True), "jobs": run_jobs}


def main(options: argparse.Namespace) -> Result:
    with tempfile.TemporaryDirectory(prefix="delayhub-chaos-") as made:
        return Result.of({name: RUNS[name](Path(made) / name.replace(", ", "-"), options) for name in options.only})


OPTIONS = [
    option("--tasks", 10_000, "tasks published"),
    option("--countdown", 20, "longest countdown in seconds"),
    option("--only", list(RUNS), nargs="*", choices=list(RUNS)),
    option("--jobs", 1_500, "jobs created"),
    option("--seconds", 40.0, "over which they are due"),
]
