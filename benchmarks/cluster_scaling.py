"""What a task costs the servers of a Redis Cluster of 1, 2 and 4 nodes, where one queue is spread over them.

Question: how much CPU time of all nodes together does a task take (published by itself, claimed, acknowledged), and
    which share of it has the busiest node? If the first stays and the second halves with twice the nodes, one queue
    scales with them.
    Idle: how many commands a second does a worker with 64 empty slots send, over a minute?
Machine: whatever runs it; all nodes on it, so that only CPU time means something, and no rate. Events are off.
Command: make bench NAME=cluster
Result: a table of medians, and one JSON line.
Caveat: what nodes do without clients (they gossip) is measured and taken off.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from kombu import Connection, Consumer, Producer, Queue

from benchmarks.cores import used_by_server
from benchmarks.result import Result, option
from delayhub.local.redis_server import RedisServer
from delayhub.transport import register
from tests.cluster import LocalCluster
from tests.consuming import drain

IDLE_SECONDS = 2.0


class Cost(NamedTuple):
    """Of one run: µs of all nodes for each task, and the busiest node's share of them."""

    publish_us: float
    claim_us: float
    busiest: float


def cpu_seconds(nodes: Sequence[RedisServer]) -> list[float]:
    """The CPU time that each node has used."""
    found = []
    for node in nodes:
        with node.client() as client:
            found.append(used_by_server(client))
    return found


def used(nodes: Sequence[RedisServer], call: Callable[[], None], *, idle: float) -> list[float]:
    """CPU seconds of each node that a call takes; ``idle`` is what a node uses in a second without clients."""
    before, start = cpu_seconds(nodes), time.monotonic()
    call()
    seconds = time.monotonic() - start
    after = cpu_seconds(nodes)
    return [max(0.0, last - first - idle * seconds) for first, last in zip(before, after, strict=True)]


def measure(cluster: LocalCluster, *, tasks: int, slots: int, claim: int) -> Cost:
    """What tasks cost on a cluster, claimed by so many."""
    cluster.empty()
    queue = Queue("bench", routing_key="bench", queue_arguments={"x-delayhub-slots": slots})
    idle = sum(used(cluster.masters, lambda: time.sleep(IDLE_SECONDS), idle=0.0)) / IDLE_SECONDS / len(cluster.masters)
    done: list[Any] = []

    def take(message: Any) -> None:
        message.ack()
        done.append(None)

    with Connection(cluster.url) as connection:
        channel = connection.channel()
        producer = Producer(channel)

        def publish() -> None:
            for number in range(tasks):
                headers = {"task": "shop.close", "id": f"t-{number}"}
                producer.publish([[], {}, {}], routing_key="bench", declare=[queue], headers=headers)

        def consume() -> None:
            channel.basic_qos(0, claim)
            with Consumer(channel, [queue], on_message=take):
                drain(connection, until=lambda: len(done) >= tasks)

        publishing = used(cluster.masters, publish, idle=idle)
        consuming = used(cluster.masters, consume, idle=idle)
    whole = [first + second for first, second in zip(publishing, consuming, strict=True)]
    return Cost(sum(publishing) / tasks * 1e6, sum(consuming) / tasks * 1e6, max(whole) / sum(whole))


def idle_requests(cluster: LocalCluster, *, slots: int, seconds: float) -> float:
    """Requests a second that a consumer of empty slots sends: claims, waits for bells, looks at all slots of a node."""
    cluster.empty()
    queue = Queue("idle", routing_key="idle", queue_arguments={"x-delayhub-slots": slots})
    with Connection(cluster.url) as connection:
        channel = connection.channel()
        consuming = Consumer(channel, [queue], on_message=lambda _: None)

        def wait(until: float) -> None:
            while time.monotonic() < until:
                with suppress(TimeoutError):
                    connection.drain_events(timeout=1)

        with consuming:
            wait(time.monotonic() + 3)  # the first claims of all slots
            looks, before, start = channel.consumer.lookout.looks, asked(cluster.masters), time.monotonic()
            wait(start + seconds)
            requests = asked(cluster.masters) - before + channel.consumer.lookout.looks - looks
            return requests / (time.monotonic() - start)


def asked(nodes: Sequence[RedisServer]) -> int:
    """How many claims and waits for a bell the nodes have had."""
    calls = 0
    for node in nodes:
        with node.client() as client:
            stats: dict[str, Any] = client.info("commandstats")
        calls += sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("evalsha", "eval", "blpop"))
    return calls


def main(options: argparse.Namespace) -> Result:
    register()
    found: dict[str, dict[str, float]] = {}
    for nodes in map(int, options.nodes.split(",")):
        with LocalCluster(masters=nodes) as cluster:
            for claim in (1, 100):
                runs = [
                    measure(cluster, tasks=options.tasks, slots=options.slots, claim=claim)
                    for _ in range(options.rounds)
                ]
                medians = Cost(*map(statistics.median, zip(*runs, strict=True)))
                rounded = {name: round(value, 3) for name, value in medians._asdict().items()}
                found[f"{nodes} nodes, claims of {claim}"] = rounded
    with LocalCluster(masters=3) as cluster:
        requests = idle_requests(cluster, slots=64, seconds=options.idle_seconds)
    found["an idle worker with 64 slots"] = {"requests a second": round(requests, 2)}
    return Result(found, requests < 2)


OPTIONS = [
    option("--nodes", "1,2,4", "sizes of the cluster"),
    option("--tasks", 10_000),
    option("--slots", 8),
    option("--rounds", 3),
    option("--idle-seconds", 60.0),
]
