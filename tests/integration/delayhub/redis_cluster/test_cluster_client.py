"""Commands find their node in a real cluster, also while slots move; nothing is ever asked of a slot's target.

Through the client: ``cluster_pool``, ``cluster_pipeline``, ``key_connection``, ``refusals``.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest
import redis
from redis.crc import key_slot

from delayhub.engine import DelayQueue, Entry, Lease
from delayhub.errors import OptionError
from delayhub.local.redis_server import RedisServer
from delayhub.redis_cluster import ClusterClient, NotExecuted, client_of, cluster_pool, servers_of
from tests.cluster import LocalCluster, node_id
from tests.repository import python_files
from tests.waiting import wait_until


class MovingSlot:
    """A slot that is being moved key by key to another node, until :meth:`finish`; none of its keys is there yet."""

    def __init__(self, cluster: LocalCluster, key: str) -> None:
        self.cluster, self.slot = cluster, key_slot(key.encode())
        self.source = cluster.owner(key)
        self.target = next(node for node in cluster.masters if node is not self.source)
        with self.source.client() as old, self.target.client() as new:
            new.execute_command("CLUSTER SETSLOT", self.slot, "IMPORTING", node_id(old))
            old.execute_command("CLUSTER SETSLOT", self.slot, "MIGRATING", node_id(new))

    def finish(self) -> None:
        self.cluster.move_slot(self.slot, source=self.source, target=self.target)

    def asked_elsewhere(self) -> int:
        """How often the source has answered ASK."""
        with self.source.client() as client:
            found: dict[str, Any] = client.info("errorstats")
        return int(found.get("errorstat_ASK", {}).get("count", 0))


def test_a_pipeline_goes_to_each_node_in_one_write_and_what_a_node_refused_or_lost_goes_again(
    cluster_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange, written = ClusterClient._exchange, list[int]()

    def noting(client: ClusterClient, node: Any, connection: Any, commands: Any) -> list[Any]:
        written.append(len(commands))
        if len(written) == 5:
            raise redis.ConnectionError("the reply is lost")
        return exchange(client, node, connection, commands)

    monkeypatch.setattr(ClusterClient, "_exchange", noting)
    monkeypatch.setattr(cluster_client.connection_pool, "resends", True)
    numbers = range(60)

    def set_all() -> list[Any]:
        with cluster_client.pipeline(transaction=False) as pipeline:
            for number in numbers:
                pipeline.set(f"key-{number}", number)
                pipeline.get(f"key-{number}")
            found: list[Any] = pipeline.execute()[1::2]
            return found

    expected = [str(number).encode() for number in numbers]

    assert set_all() == expected
    assert (len(written), sum(written)) == (3, 120)

    mapped = cluster_client.connection_pool.map
    other = next(node for node in mapped.masters() if node != mapped.node_of(key_slot(b"key-7")))
    mapped._masters[key_slot(b"key-7")] = other

    assert set_all() == expected
    assert len(written) > 6


def test_each_command_goes_to_its_keys_node_and_replies_keep_their_order(
    cluster_client: redis.Redis, cluster: LocalCluster
) -> None:
    with cluster_client.pipeline(transaction=False) as pipeline:
        pipeline.time()
        for number in range(30):
            pipeline.set(f"key-{number}", number)
            pipeline.get(f"key-{number}")
        _, *replies = pipeline.execute()

    assert replies[1::2] == [str(number).encode() for number in range(30)]
    sizes = [server.dbsize() for _, server in servers_of(cluster_client)]
    assert sum(sizes) == 30
    assert all(sizes)


def test_a_slot_that_has_moved_is_found(cluster_client: redis.Redis, cluster: LocalCluster) -> None:
    queue = DelayQueue(cluster_client, "moved")
    queue.schedule([Entry("before")])

    MovingSlot(cluster, "{moved}").finish()

    queue.schedule([Entry("after")])
    assert [entry.id for entry in queue.claim(10).entries] == ["before", "after"]


def test_a_slot_that_is_being_moved_is_waited_for_and_its_target_is_never_asked(
    cluster_client: redis.Redis, cluster: LocalCluster
) -> None:
    # At the target a script of one key would find nothing, and say that there was nothing to acknowledge.
    queue = DelayQueue(cluster_client, "slow")
    queue.schedule([Entry(f"e{number}") for number in range(5)])
    claim = queue.claim(10)
    leases = [Lease("slow", "slow", entry.id, entry.token) for entry in claim.entries]
    moving = MovingSlot(cluster, "{slow}")
    acknowledged: list[int] = []
    caller = threading.Thread(target=lambda: acknowledged.append(queue.acknowledge(leases)))

    caller.start()
    wait_until(lambda: moving.asked_elsewhere() >= 2)
    was_kept = not acknowledged
    moving.finish()
    caller.join(60)

    assert was_kept
    assert acknowledged == [5]
    for node in cluster.masters:
        with node.client() as direct:
            assert "cmdstat_asking" not in direct.info("commandstats")


def test_a_client_that_may_not_wait_says_that_nothing_was_executed(cluster: LocalCluster) -> None:
    hasty = client_of(cluster_pool(cluster.url, timeout_seconds=1))
    hasty.ping()
    moving = MovingSlot(cluster, "hasty")

    with pytest.raises(NotExecuted, match="is being moved to"):
        hasty.set("hasty", "value")

    moving.finish()
    hasty.connection_pool.disconnect()


def test_a_connection_of_a_key_goes_where_the_key_is(cluster: LocalCluster) -> None:
    pool = cluster_pool(cluster.url, timeout_seconds=5)
    own = pool.of_key("wandering")
    connection: Any = own.get_connection()
    moving = MovingSlot(cluster, "wandering")
    moving.finish()

    connection.send_command("GET", "wandering")
    with pytest.raises(NotExecuted):
        connection.read_response()
    connection.send_command("GET", "wandering")

    assert connection.read_response() is None
    assert connection.port == moving.target.port
    own.disconnect()
    pool.disconnect()


def test_a_server_without_cluster_mode_is_named(redis_server: RedisServer) -> None:
    lone = client_of(cluster_pool(f"delayhub-cluster://127.0.0.1:{redis_server.port}", timeout_seconds=1))

    with pytest.raises(OptionError, match="without cluster mode: its scheme is delayhub://"):
        lone.ping()


def test_one_node_that_answers_is_enough(cluster: LocalCluster) -> None:
    url = f"delayhub-cluster://127.0.0.1:1;delayhub-cluster://127.0.0.1:{cluster.masters[0].port}"
    found = client_of(cluster_pool(url, timeout_seconds=2))

    assert isinstance(found, ClusterClient)
    assert found.ping()
    found.connection_pool.disconnect()


def test_no_module_uses_a_cluster_client_that_follows_ask() -> None:
    sources = {path: path.read_text() for path in python_files("delayhub", "tasksapp")}

    users = [path.name for path, source in sources.items() if "redis.cluster" in source or "RedisCluster(" in source]
    past = [
        path.name
        for path, source in sources.items()
        if "redis.Redis(connection_pool=" in source and path.parent.name != "redis_cluster"
    ]

    assert users == []
    # client_of(pool) knows clusters. These two reach a single server, and none at all.
    assert sorted(past) == ["channel.py", "lanes.py", "startup_checks.py"]
