"""The transport on a real cluster: queues on several nodes, slots that move under load, what is refused."""

from __future__ import annotations

import ssl
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Exchange, Producer, Queue

from delayhub.engine import Counts, DelayQueue
from delayhub.engine.fitness import examine
from delayhub.errors import NotReplicated, OptionError
from delayhub.local.redis_server import free_port
from delayhub.redis_cluster import NotExecuted
from delayhub.transport.broker_pool import broker_pool
from tests.cluster import LocalCluster, bus_port
from tests.consuming import drain, keep_payloads
from tests.integration.delayhub.transport.tls_proxy import TlsProxy


def queues_on_each_node(cluster: LocalCluster) -> list[Queue]:
    """A queue on each of the three masters."""
    found: dict[int, str] = {}
    number = 0
    while len(found) < 3:
        found.setdefault(cluster.owner(f"{{q{number}}}").port, f"q{number}")
        number += 1
    return [Queue(name, Exchange(name), routing_key=name) for name in found.values()]


def publish(connection: Any, queues: list[Queue], count: int) -> None:
    producer = Producer(connection.channel())
    for queue in queues:
        for number in range(count):
            producer.publish([queue.name, number], exchange=queue.name, routing_key=queue.name, declare=[queue])


def test_leases_are_renewed_although_another_node_takes_no_acknowledgements(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, held, _ = queues_on_each_node(cluster)
    acknowledge = DelayQueue.acknowledge

    def refuse(self: DelayQueue, leases: Any) -> int:
        if self.name == done.name:
            raise NotExecuted("its node is away")
        return acknowledge(self, leases)

    with Connection(cluster.url) as connection, connection.channel() as channel:
        publish(connection, [done, held], 1)
        messages = [channel.basic_get(queue.name) for queue in (done, held)]

        def lease_end() -> int:
            (leased,) = channel.queue(held.name).list("leased")
            return leased.at_ms

        before = lease_end()
        time.sleep(0.005)  # a lease renewed within the same ms has the same end
        with monkeypatch.context() as patched:
            patched.setattr(DelayQueue, "acknowledge", refuse)
            messages[0].ack()
            with pytest.raises(NotExecuted):
                channel.book.keep()
        assert lease_end() > before
        messages[1].ack()

        assert [channel.count(queue.name) for queue in (done, held)] == [Counts(0, 0, 0, 0)] * 2


@pytest.mark.parametrize(
    ("error", "times"), [(redis.ConnectionError("its node is away"), 1), (redis.ResponseError("WRONGTYPE is away"), 2)]
)
def test_a_node_that_is_away_is_asked_once_while_leases_are_renewed_and_one_that_answers_for_each_queue(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, error: redis.RedisError, times: int
) -> None:
    away, here, _ = queues_on_each_node(cluster)
    port = cluster.owner(f"{{{away.name}}}").port
    name = next(name for name in map("r{}".format, range(1000)) if cluster.owner(f"{{{name}}}").port == port)
    beside = Queue(name, Exchange(name), routing_key=name)
    extend, asked = DelayQueue.extend, list[str]()

    def refuse(self: DelayQueue, leases: Any, **options: Any) -> set[str]:
        asked.append(self.name)
        if self.name in (away.name, beside.name):
            raise error
        return extend(self, leases, **options)

    with Connection(cluster.url) as connection, connection.channel() as channel:
        queues = [away, beside, here]
        publish(connection, queues, 1)
        messages = [channel.basic_get(queue.name) for queue in queues]
        with monkeypatch.context() as patched:
            patched.setattr(DelayQueue, "extend", refuse)
            with pytest.raises(type(error), match="is away"):
                channel.book.keep()
        for message in messages:
            message.ack()

    assert asked == [*[away.name, beside.name][:times], here.name]


def test_a_task_that_starts_waits_for_no_acknowledgement_to_another_node(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    away, here, _ = queues_on_each_node(cluster)
    acknowledge, asked, woken = DelayQueue.acknowledge, list[str](), list[bool]()

    def refuse(self: DelayQueue, leases: Any) -> int:
        asked.append(self.name)
        if self.name == away.name:
            raise NotExecuted("its node is away")
        return acknowledge(self, leases)

    with Connection(cluster.url) as connection, connection.channel() as channel:
        publish(connection, [away, here], 1)
        done, starts = (channel.basic_get(queue.name) for queue in (away, here))
        with monkeypatch.context() as patched:
            patched.setattr(DelayQueue, "acknowledge", refuse)
            patched.setattr(channel.book, "bells", {lambda: None})  # a consumer, to which acknowledgements are left
            patched.setattr(channel.book.keeper, "wake", lambda: woken.append(True))
            done.ack()

            channel.acknowledge_early(starts.delivery_tag, is_quick=False)

        assert (asked, woken) == ([here.name], [True])
        channel.book.flush()
        assert [channel.count(queue.name) for queue in (away, here)] == [Counts(0, 0, 0, 0)] * 2


@pytest.mark.parametrize("prefetch", [0, 1])
def test_queues_on_several_nodes_are_consumed_each_in_its_order(cluster: LocalCluster, prefetch: int) -> None:
    queues = queues_on_each_node(cluster)
    got: list[Any] = []
    with Connection(cluster.url) as connection:
        publish(connection, queues, 20)
        channel = connection.channel()
        channel.basic_qos(0, prefetch)

        with Consumer(channel, queues, on_message=keep_payloads(got)):
            drain(
                connection,
                until=lambda: len(got) == 60 and not any(any(channel.count(queue.name)) for queue in queues),
            )

        for queue in queues:
            assert [number for name, number in got if name == queue.name] == list(range(20))


def test_one_prefetch_count_bounds_all_queues_together(cluster: LocalCluster) -> None:
    queues, held = queues_on_each_node(cluster), list[Any]()
    with Connection(cluster.url) as connection:
        publish(connection, queues, 4)
        channel = connection.channel()
        channel.basic_qos(0, 2)

        with Consumer(channel, queues, on_message=held.append):
            drain(connection, until=lambda: len(held) == 2)
            for _ in range(5):
                with pytest.raises(TimeoutError):
                    connection.drain_events(timeout=0.1)
            leased = sum(channel.count(queue.name).leased for queue in queues)

    assert leased == 2


def test_nothing_is_lost_or_doubled_while_slots_are_moved_key_by_key(cluster: LocalCluster) -> None:
    queues = queues_on_each_node(cluster)
    got: list[Any] = []
    with Connection(cluster.url) as publishing, Connection(cluster.url) as consuming:
        with Consumer(consuming.channel(), queues, on_message=keep_payloads(got)):
            publisher = threading.Thread(target=publish, args=(publishing, queues, 100))
            publisher.start()
            for queue in queues:
                drain(consuming, until=lambda: len(got) >= 10)
                source = cluster.owner(f"{{{queue.name}}}")
                target = next(node for node in cluster.masters if node is not source)
                slot = redis.crc.key_slot(queue.name.encode())
                cluster.move_slot(slot, source=source, target=target, batch=1)
            drain(consuming, until=lambda: len(got) >= 300)
            publisher.join(60)

    assert Counter(map(tuple, got)) == {(queue.name, number): 1 for queue in queues for number in range(100)}


@pytest.mark.parametrize("missing", ["raise", "warn"])
def test_a_publish_asks_the_replicas_of_its_own_node(
    cluster: LocalCluster, missing: str, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"wait_replicas": 1, "wait_seconds": 0.01, "wait_replicas_missing": missing}
    for queue in queues_on_each_node(cluster):
        before = waits(cluster)
        with Connection(cluster.url, transport_options=options) as connection:
            if missing == "raise":
                with pytest.raises(NotReplicated, match="0 of 1 replicas"):
                    publish(connection, [queue], 1)
            else:
                publish(connection, [queue], 1)
                assert caplog.text.count("0 of 1 replicas") == 1
                caplog.clear()

            assert connection.channel().count(queue.name) == Counts(0, 1, 0, 0)
        # Where the script is not known yet, two.
        assert (waits(cluster) - before).keys() == {cluster.owner(f"{{{queue.name}}}").port}


def waits(cluster: LocalCluster) -> Counter[int]:
    """How many WAIT each node has had, by its port."""
    found: Counter[int] = Counter()
    for node in cluster.masters:
        with node.client() as client:
            found[node.port] = client.info("commandstats").get("cmdstat_wait", {"calls": 0})["calls"]
    return found


def test_nodes_that_speak_tls_are_reached_by_their_own_scheme(tmp_path: Path) -> None:
    cluster = LocalCluster(masters=1)
    (node,) = cluster.masters
    node.port = node.port or free_port()
    with TlsProxy(node.port, tmp_path) as proxy:
        node.config["cluster-announce-port"] = proxy.port
        node.config["cluster-announce-bus-port"] = bus_port(node)
        own = {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_ca_certs": str(proxy.certificate)}
        with cluster, Connection(f"delayhub-clusters://127.0.0.1:{proxy.port}", ssl=own) as connection:
            queue, got = Queue("q", Exchange("q"), routing_key="q"), list[Any]()
            publish(connection, [queue], 3)
            with Consumer(connection.channel(), [queue], on_message=keep_payloads(got)):
                drain(connection, until=lambda: len(got) == 3)


def test_only_database_0_is_there(cluster: LocalCluster) -> None:
    url = f"delayhub-cluster://127.0.0.1:{cluster.masters[0].port}/1"

    with Connection(url) as connection, pytest.raises(OptionError, match="only database 0"):
        connection.channel()
    with Connection(url) as connection, pytest.raises(OptionError, match="only database 0"):
        broker_pool(connection, timeout_seconds=1)


def test_declaring_a_queue_on_a_node_by_itself_says_which_scheme_to_write(cluster: LocalCluster) -> None:
    queues = queues_on_each_node(cluster)
    url = f"delayhub://127.0.0.1:{cluster.masters[0].port}/0"
    with Connection(url) as connection, pytest.raises(OptionError, match="its scheme is delayhub-cluster://"):
        publish(connection, queues, 1)


def test_every_master_is_looked_at_and_a_node_by_itself_is_no_broker(cluster: LocalCluster) -> None:
    with Connection(cluster.url) as connection:
        whole = examine(connection.channel().publisher)
    with Connection(f"delayhub://127.0.0.1:{cluster.masters[0].port}/0") as connection:
        single = examine(connection.channel().publisher)

    assert whole.server.endswith("a cluster of 3 masters")
    assert whole.faults == ()
    assert sum("it has no replica" in warning for warning in whole.warnings) == 3
    assert single.faults == (
        "it is a node of a Redis Cluster, which has only some of the keys: write delayhub-cluster://",
    )
