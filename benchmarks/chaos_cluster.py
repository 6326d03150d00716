"""What is lost, and what runs twice, when masters of a Redis Cluster are killed and slots move under load?

Question: of 10 000 tasks on six queues, half of them with a countdown of up to 20 s, how many never run, and how many
    more than once, while a node is added, a queue's slot is moved to it in one step, another is moved key by key, and
    two masters are killed with -9 and come back as replicas? Three of the queues are cut into 4 slots, and one of these
    into 16 while tasks are there;
    WAIT: the same where publishers wait until one replica has their task;
    limits: see ``chaos_slots``: limits and unique keys in a queue of 8 slots;
    jobs: of 1 500 jobs of a whole site whose timers are in a cluster, how many are lost, early or in a wrong status,
        while the lane's slot is moved in both ways and its master is killed?
Machine: whatever runs it; three masters and three replicas, two more that are added; two workers (threads, prefork),
    one producer. A node is called failed after 1.5 s.
Command: make chaos NAME=cluster
Result: a table and one JSON line; exit code 0 only if with WAIT nothing was lost, and nothing came early.
Caveat: tasks are acknowledged late. Valkey 9 is needed for the move in one step; other servers move that slot by keys.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from redis.crc import key_slot
from redis.exceptions import ResponseError

from benchmarks import chaos_slots
from benchmarks.chaos_crowd import POLL_SECONDS, Crowd
from benchmarks.chaos_site import judge
from benchmarks.children import run_main
from delayhub.demo.receiver import read_received
from delayhub.demo.scenario import plan
from delayhub.demo.site import Site, SiteOptions
from delayhub.engine import Counts, EngineOptions, SystemClock
from delayhub.engine.lane_tag import slot_lane, tag
from delayhub.engine.queue_slots import QueueSlots, ask_slots
from delayhub.engine.spread_queue import find_queues
from delayhub.local.redis_server import RedisServer
from delayhub.redis_cluster import client_of, cluster_pool
from tests.acceptance.site import SHORT_LEASES, create_on, wait_until_all_ended
from tests.cluster import LocalCluster, node_id
from tests.waiting import wait_until

QUEUES = tuple(f"chaos-{number}" for number in range(6))
#: Those of them that are cut into slots.
SLOTTED = QUEUES[:3]
#: The timer lane of a site.
TIMER_LANE = "delayhub.timers"
#: How long the producer's share of all tasks is waited for.
PACE_SECONDS = 300.0


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
        target = next(node for node in self.cluster.masters[:3] if node.running and node is not source)
        self.cluster.move_slot(key_slot(self.tags[1].encode()), source=source, target=target, batch=1)
        self.note("slot moved by keys")

    def kill_a_master(self, queue: str) -> None:
        """kill -9 to the master of a queue; once another has taken its place, it comes back as a replica."""
        node = self.cluster.owner(f"{{{queue}}}")
        with node.client() as client:
            wait_until(lambda: client.info("replication")["connected_slaves"] >= 1)
        self.note("master killed", strands=True)
        node.kill()
        wait_until(lambda: self._has_other_owner(queue, node))
        node.start()
        with node.client() as client:
            wait_until(lambda: client.info("replication").get("master_link_status") == "up")

    def _has_other_owner(self, queue: str, node: RedisServer) -> bool:
        try:
            return self.cluster.owner(f"{{{queue}}}") is not node
        except LookupError:
            return False


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
            for share, deed in deeds:
                deadline = time.monotonic() + PACE_SECONDS
                while crowd.published() < share * options.tasks and time.monotonic() < deadline:
                    crowd.tend()
                    time.sleep(POLL_SECONDS)
                deed()
            while crowd.is_publishing:
                crowd.tend()
                time.sleep(POLL_SECONDS)
            crowd.wait_until_empty()
            found = crowd.figures()
        is_clean = found["dead"] == found["still there"] == found.get("worker ended by itself", 0) == 0
        good = is_clean and found["earliest ms"] >= 0 and (not wait or found["lost"] == 0)
        if not good:
            print(crowd.log, file=sys.stderr)
        return found, good


def run_jobs(folder: Path, options: argparse.Namespace) -> tuple[dict[str, int], bool]:
    """The same of jobs, on a site with SQLite; what is moved and killed is the node of the timer lane."""
    done: Counter[str] = Counter()
    with ExitStack() as stack:
        cluster = stack.enter_context(LocalCluster(masters=3, replicas=1))
        options_of_site = SiteOptions(data_dir=folder, settings=SHORT_LEASES, broker_url=cluster.url)
        with Site(options_of_site) as site:
            # A busy machine creates and changes less than a hundred a second.
            now = datetime.fromtimestamp(SystemClock().now_ms() / 1000 + options.jobs / 75, UTC)
            created = create_on(site, plan(jobs=options.jobs, seconds=options.seconds, now=now, run="chaos"))
            callbacks = sum(job.attempts for job in created.values())
            moves = Moves(cluster, note=lambda deed, **_: done.update([deed]), lanes=(TIMER_LANE,) * 2)
            deeds = [moves.add_a_node, moves.move_a_slot, lambda: moves.kill_a_master(TIMER_LANE)]
            for number, deed in enumerate(deeds, 1):
                deadline = time.monotonic() + PACE_SECONDS
                wanted = callbacks * number // (len(deeds) + 1)
                while received(site) < wanted and time.monotonic() < deadline:
                    time.sleep(POLL_SECONDS)
                deed()
            found = judge(wait_until_all_ended(site, created, within_seconds=PACE_SECONDS))
    must_be_0 = set(found) - {"jobs", "callbacks that came twice", "latest ms"}
    return {**found, **done}, all(found[name] == 0 for name in must_be_0)


def received(site: Site) -> int:
    """How many callbacks the site's receiver has had."""
    return sum(1 for _ in read_received(site.folder.received))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=10_000, help="tasks published (default: 10000)")
    parser.add_argument("--countdown", type=int, default=20, help="longest countdown in seconds (default: 20)")
    parser.add_argument("--only", choices=["tasks", "tasks, WAIT", "limits", "jobs"], help="one of the runs")
    parser.add_argument("--jobs", type=int, default=1_500, help="jobs created (default: 1500)")
    parser.add_argument("--seconds", type=float, default=40, help="over which they are due (default: 40)")
    parser.add_argument("--limits-seconds", type=int, default=40, help="of the run with limits (default: 40)")
    options = parser.parse_args()
    runs: dict[str, tuple[Mapping[str, float], bool]] = {}
    with tempfile.TemporaryDirectory(prefix="delayhub-chaos-") as made:
        folder = Path(made)
        if options.only in (None, "tasks"):
            runs["tasks"] = run(folder / "tasks", options, wait=False)
        if options.only in (None, "tasks, WAIT"):
            runs["tasks, WAIT"] = run(folder / "wait", options, wait=True)
        if options.only in (None, "jobs"):
            runs["jobs"] = run_jobs(folder / "jobs", options)
        if options.only in (None, "limits"):
            runs["limits"] = chaos_slots.run(folder / "limits", seconds=options.limits_seconds)
    rows = dict.fromkeys(name for found, _ in runs.values() for name in found)
    print(" " * 24 + "".join(f"{name:>18}" for name in runs))
    for row in rows:
        print(f"{row:24}" + "".join(f"{found.get(row, '')!s:>18}" for found, _ in runs.values()))
    print(json.dumps({"benchmark": "chaos_cluster", **{name: found for name, (found, _) in runs.items()}}))
    return 0 if all(good for _, good in runs.values()) else 1


if __name__ == "__main__":
    sys.exit(run_main(main))
