"""A Redis Cluster of real nodes on this machine: masters with all slots, and replicas of them."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from delayhub.errors import ServiceDied
from delayhub.local.redis_server import PORT_TRIES, RedisServer, find_redis_server, free_port, redis_version
from tests.waiting import wait_until

#: Milliseconds after which the others call a node failed.
NODE_TIMEOUT_MS = 1500
#: Before version 7 a node's bus is so far from its port, and no setting changes that.
BUS_DISTANCE = 10_000


class ClusterNode(RedisServer):
    """A node whose bus has a port of its own, the ``cluster-port`` of its configuration."""

    def start(self) -> Self:
        """The node, ready for commands. At its first start its bus gets another port where that one was taken."""
        for _ in range(PORT_TRIES):
            try:
                return super().start()
            except ServiceDied as died:
                if self._port_is_given or "Address already in use" not in died.log:
                    raise
                self.config["cluster-port"] = free_port()
        return super().start()


class LocalCluster:
    """Nodes that run as long as the ``with`` block does.

    Args:
        masters: how many share the slots.
        replicas: how many each of them has.
        config: more of ``redis.conf``, for every node.
    """

    def __init__(self, *, masters: int = 3, replicas: int = 0, config: dict[str, Any] | None = None) -> None:
        self.config = config or {}
        self.masters = [self.make_node() for _ in range(masters)]
        self.replicas = [self.make_node() for _ in range(masters * replicas)]

    def make_node(self) -> RedisServer:
        """A node that knows no other; not started."""
        own: dict[str, Any] = {
            "cluster-enabled": "yes",
            "cluster-node-timeout": NODE_TIMEOUT_MS,
            "cluster-require-full-coverage": "no",
            "repl-diskless-sync-delay": 0,
        }
        program = find_redis_server()
        if redis_version(program) >= (7, 0):
            own["cluster-port"] = free_port()
            return ClusterNode(program=program, config={**own, **self.config})
        return RedisServer(program=program, port=_port_with_a_bus(), config={**own, **self.config})

    def __enter__(self) -> Self:
        try:
            for node in self.nodes:
                node.start()
            self._join()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.nodes:
            node.stop()

    @property
    def nodes(self) -> list[RedisServer]:
        """Every node, masters first."""
        return [*self.masters, *self.replicas]

    @property
    def url(self) -> str:
        """The broker's URL, with all nodes."""
        return ";".join(f"delayhub-cluster://127.0.0.1:{node.port}" for node in self.nodes)

    def owner(self, key: str) -> RedisServer:
        """The node that is the master of a key's slot now."""
        slot = key_slot(key.encode())
        for node in self.nodes:
            if node.pid is None:
                continue
            with node.client() as client:
                info = client.info("replication")
                if info["role"] != "master":
                    continue
                rows: list[Any] = client.execute_command("CLUSTER SLOTS")
            found = next((row for row in rows if row[0] <= slot <= row[1]), None)
            if found is not None and found[2][1] == node.port:
                return node
        raise LookupError(f"no running master has slot {slot}")

    def empty(self) -> None:
        """Removes every key."""
        for node in self.masters:
            node.check()
            with node.client() as client:
                client.flushall()

    def meet(self, node: RedisServer) -> None:
        """Makes a started node one of the cluster; it has no slots yet."""
        with node.client() as client:
            first = self.masters[0]
            client.execute_command("CLUSTER MEET", "127.0.0.1", first.port, bus_port(first))
        # Until it has heard of every slot it takes no key that is moved to it.
        wait_until(lambda: _knows(node, len(self.nodes) + 1) and _is_ready(node))
        for other in self.nodes:
            wait_until(lambda other=other: other.pid is None or _knows(other, len(self.nodes) + 1))

    def move_slot(self, slot: int, *, source: RedisServer, target: RedisServer, batch: int = 10) -> int:
        """How many keys of a slot were moved, one after the other as ``redis-cli --cluster reshard`` does it."""
        moved = 0
        with source.client(socket_timeout=30) as old, target.client(socket_timeout=30) as new:
            old_id, new_id = node_id(old), node_id(new)
            new.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", old_id)
            old.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", new_id)
            while keys := old.execute_command("CLUSTER GETKEYSINSLOT", slot, batch):
                old.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 20_000, "KEYS", *keys)
                moved += len(keys)
            wait_until(lambda: _takes_slot(new, slot, new_id))
            with suppress(redis.ResponseError):  # it may have learned it already, and have no slot left
                old.execute_command("CLUSTER SETSLOT", slot, "NODE", new_id)
        return moved

    def migrate_slot(self, slot: int, *, source: RedisServer, target: RedisServer) -> None:
        """Moves a slot in one step (Valkey 9's CLUSTER MIGRATESLOTS)."""
        with source.client() as old, target.client() as new:
            old.execute_command("CLUSTER MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", node_id(new))
            moves = "CLUSTER GETSLOTMIGRATIONS"
            wait_until(
                lambda: "'success'" in str(old.execute_command(moves)), otherwise=lambda: old.execute_command(moves)
            )

    def _join(self) -> None:
        clients = [node.client() for node in self.nodes]
        share = -(-REDIS_CLUSTER_HASH_SLOTS // len(self.masters))
        for number, client in enumerate(clients[: len(self.masters)]):
            last = min((number + 1) * share, REDIS_CLUSTER_HASH_SLOTS) - 1
            client.execute_command("CLUSTER ADDSLOTS", *range(number * share, last + 1))
            client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
        for node in self.nodes[1:]:
            clients[0].execute_command("CLUSTER MEET", "127.0.0.1", node.port, bus_port(node))
        for node in self.nodes:
            wait_until(lambda node=node: _knows(node, len(self.nodes)))
        for number, client in enumerate(clients[len(self.masters) :]):
            client.execute_command("CLUSTER REPLICATE", node_id(clients[number % len(self.masters)]))
        for node in self.nodes:
            wait_until(lambda node=node: _is_ready(node))
        for client in clients:
            client.close()


def bus_port(node: RedisServer) -> int:
    """The port at which a node's fellows talk to it."""
    return int(node.config.get("cluster-port", node.port + BUS_DISTANCE))


def node_id(client: redis.Redis) -> str:
    """The cluster's name of a node."""
    found: bytes = client.execute_command("CLUSTER MYID")
    return found.decode()


def keys_on(cluster: LocalCluster, node: RedisServer, names: Sequence[str]) -> list[str]:
    """Those of the queues whose keys are on a node."""
    return [name for name in names if cluster.owner(f"{{{name}}}") is node]


def _port_with_a_bus() -> int:
    """A free port whose bus would be on a free one, too."""
    while True:
        port = free_port()
        with suppress(OSError, OverflowError), socket.socket() as bus:
            bus.bind(("127.0.0.1", port + BUS_DISTANCE))
            return port


def _takes_slot(client: redis.Redis, slot: int, owner_id: str) -> bool:
    """Whether a node has taken a slot; it refuses while its replicas are busy (NOREPLICAS)."""
    try:
        client.execute_command("CLUSTER SETSLOT", slot, "NODE", owner_id)
    except redis.ResponseError as error:
        if "NOREPLICAS" not in str(error):
            raise
        return False
    return True


def _knows(node: RedisServer, count: int) -> bool:
    with node.client() as client:
        lines = client.execute_command("CLUSTER NODES")
    text = lines if isinstance(lines, str) else lines.decode() if isinstance(lines, bytes) else str(lines)
    return "handshake" not in text and int(_info(node)["cluster_known_nodes"]) == count


def _is_ready(node: RedisServer) -> bool:
    found = _info(node)
    if found["cluster_state"] != "ok" or int(found["cluster_slots_assigned"]) != REDIS_CLUSTER_HASH_SLOTS:
        return False
    with node.client() as client:
        replication = client.info("replication")
    return replication["role"] == "master" or replication["master_link_status"] == "up"


def _info(node: RedisServer) -> dict[str, str]:
    with node.client() as client:
        answer: Any = client.execute_command("CLUSTER INFO")
    return dict(answer)
