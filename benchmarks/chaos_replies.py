"""Is each message stored once, where the reply to its publish may be lost?

Question: of 10 000 messages that are published one by one, over connections that are cut in place of one reply of 50,
    how many are stored, and how many twice, on one server and on a cluster of three masters?
Machine: whatever runs it; every connection goes through a TCP proxy in this process, each node's own in the cluster.
Command: make chaos NAME=replies
Result: a line for each and one JSON line; exit code 0 only if all are stored and none twice.
Caveat: nothing consumes. A message that a worker took and acknowledged between two tries is published a second time.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from contextlib import ExitStack, suppress
from typing import Any

import redis
from kombu import Connection
from kombu.exceptions import OperationalError

from benchmarks.result import Result, option
from delayhub.engine import DelayQueue, Place
from delayhub.local.redis_server import RedisServer, free_port
from delayhub.redis_cluster import client_of, cluster_pool
from tests.cluster import LocalCluster, bus_port
from tests.tcp_proxy import TcpProxy

QUEUES = tuple(f"replies-{number}" for number in range(6))


class Publisher:
    """Publishes over a connection that is made again where it was lost."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connection = Connection(url)
        #: Publishes that raised, although redis-py had tried again.
        self.raised = 0

    def publish(self, queue: str, name: str) -> None:
        """Publishes one message, the same one again after each error, as kombu's retries do."""
        message: dict[str, Any] | None = None
        while True:
            try:
                channel: Any = self.connection.default_channel
                if message is None:
                    message = channel.prepare_message("[]", headers={"id": name}, content_type="application/json")
                    message["properties"]["delivery_info"] = {"exchange": "", "routing_key": queue}
                channel.basic_publish(message, exchange="", routing_key=queue)
            except (redis.RedisError, OperationalError, OSError):
                self.raised += 1
                self.close()
                self.connection = Connection(self.url)
            else:
                return

    def close(self) -> None:
        """Closes the connection, as far as it still is one."""
        with suppress(redis.RedisError, OSError):
            self.connection.release()


def publish(url: str, proxies: list[TcpProxy], *, count: int, loss: float) -> int:
    """How many of so many publishes raised, and were repeated."""
    publisher = Publisher(url)
    for queue in QUEUES:
        channel: Any = publisher.connection.default_channel
        channel.queue_declare(queue)
    for proxy in proxies:
        proxy.lose_replies(loss)
    for number in range(count):
        publisher.publish(QUEUES[number % len(QUEUES)], f"t{number:05d}")
    for proxy in proxies:
        proxy.lose_replies(0)
    publisher.close()
    return publisher.raised


def judge(client: redis.Redis, proxies: list[TcpProxy], *, count: int, raised: int, seconds: float) -> dict[str, float]:
    """The figures of a run."""
    stored: Counter[str] = Counter()
    for name in QUEUES:
        queue = DelayQueue(client, name)
        for offset in range(0, count, 1000):
            stored.update(found.id.partition("#")[0] for found in queue.list(Place.READY, offset=offset, limit=1000))
    return {
        "published": count,
        "replies lost": sum(proxy.lost_replies for proxy in proxies),
        "publishes that raised": raised,
        "stored": len(stored),
        "stored twice": sum(times > 1 for times in stored.values()),
        "seconds": round(seconds, 1),
    }


def on_one_server(*, count: int, loss: float) -> dict[str, float]:
    """The figures of one server."""
    with RedisServer() as server, TcpProxy(server.port) as proxy:
        began = time.monotonic()
        raised = publish(f"delayhub://127.0.0.1:{proxy.port}/0", [proxy], count=count, loss=loss)
        return judge(server.client(), [proxy], count=count, raised=raised, seconds=time.monotonic() - began)


def on_a_cluster(*, count: int, loss: float) -> dict[str, float]:
    """The figures of a cluster whose nodes announce the ports of their proxies."""
    with ExitStack() as stack:
        cluster = LocalCluster(masters=3)
        proxies = []
        for node in cluster.masters:
            node.port = node.port or free_port()
            proxy = stack.enter_context(TcpProxy(node.port))
            node.config["cluster-announce-port"] = proxy.port
            node.config["cluster-announce-bus-port"] = bus_port(node)
            proxies.append(proxy)
        stack.enter_context(cluster)
        began = time.monotonic()
        raised = publish(cluster.url, proxies, count=count, loss=loss)
        client = client_of(cluster_pool(cluster.url, timeout_seconds=10))
        return judge(client, proxies, count=count, raised=raised, seconds=time.monotonic() - began)


def main(given: argparse.Namespace) -> Result:
    runs = {
        "one server": on_one_server(count=given.messages, loss=given.loss),
        "cluster": on_a_cluster(count=given.messages, loss=given.loss),
    }
    good = all(found["stored"] == given.messages and found["stored twice"] == 0 for found in runs.values())
    return Result(runs, good and all(found["replies lost"] > 0 for found in runs.values()))


OPTIONS = [
    option("--messages", 10_000, "messages published"),
    option("--loss", 0.02, "share of replies that are lost"),
]
