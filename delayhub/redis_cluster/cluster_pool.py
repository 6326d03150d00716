"""The connections of one program to a cluster: for each node a pool, and those that belong to a key."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.exceptions import ClusterDownError, MovedError
from redis.retry import Retry

from delayhub.redis_cluster.cluster_map import Address, ClusterMap
from delayhub.redis_cluster.refusals import REFUSALS, NotExecuted, PatientRetry, names_another_master, said


class KeyConnection:
    """Put before one of redis-py's connection classes: see :func:`key_connection`.

    Args:
        cluster_map: where it looks its node up.
        slot: the slot of its key.
    """

    def __init__(self, *, cluster_map: ClusterMap, slot: int, **options: Any) -> None:
        self.cluster_map = cluster_map
        self.slot = slot
        super().__init__(**options)

    def _connect(self) -> socket.socket:
        self.host, self.port = self.cluster_map.node_of(self.slot)
        try:
            connected: socket.socket = super()._connect()  # type: ignore[misc]  # the class that this is put before
        except (OSError, redis.RedisError):
            self.cluster_map.doubt()
            raise
        return connected

    def read_response(self, *given: Any, **options: Any) -> Any:
        """The next reply.

        Raises:
            NotExecuted: the node refused the command, which is to be sent again; the connection is closed.
        """
        try:
            return super().read_response(*given, **options)  # type: ignore[misc]  # as above
        except REFUSALS as refusal:
            note(refusal, self.cluster_map, asked=Address(self.host, self.port))
            this: Any = self
            this.disconnect()
            raise NotExecuted(said(refusal)) from refusal
        except (redis.ConnectionError, redis.TimeoutError):
            self.cluster_map.doubt()
            raise


def key_connection(plain: type[redis.Connection]) -> type[redis.Connection]:
    """The class of connections that belong to a key, over TCP or TLS as the plain one is."""
    return type(f"Key{plain.__name__}", (KeyConnection, plain), {})


def note(refusal: Exception, cluster_map: ClusterMap, *, asked: Address) -> None:
    """Keeps what a refusal says of the cluster."""
    if isinstance(refusal, MovedError):
        cluster_map.move(refusal.slot_id, to=Address(refusal.host or asked.host, refusal.port))
    elif isinstance(refusal, ClusterDownError) or names_another_master(refusal):
        cluster_map.doubt()


#: Seconds that one node gets for saying who has which slot, or for taking a connection of an event loop.
BRIEF_SECONDS = 1.0


class ClusterPool(redis.ConnectionPool):
    """A pool whose connections go to the node of one key, the home; others go where their key is.

    As a pool it is what kombu needs: exchanges, bindings and pub/sub live on the home's node. ``client_of(pool)`` is
    the client that sends each command to its own key's node.

    Args:
        seeds: nodes to ask who has which slot.
        home: the key of its own connections, and of commands without a key.
        patience: seconds for which a command that was not executed is sent again.
        resends: whether a command whose reply was lost is sent again too. What is published has a token for that.
        connection_class: redis-py's, for TCP or TLS.
        max_connections: to each node.
        options: redis-py's, for each connection.
    """

    def __init__(
        self,
        *,
        seeds: Sequence[Address],
        home: str,
        patience: float,
        resends: bool,
        connection_class: type[redis.Connection] = redis.Connection,
        max_connections: int | None = None,
        **options: Any,
    ) -> None:
        self.patience = patience
        self.resends = resends
        self.home_slot = slot_of_key(home)
        self.plain_class = connection_class
        self.plain_options = {**options, "db": 0}
        self.map = ClusterMap(seeds, ask=self._ask_for_slots)
        self._nodes: dict[Address, redis.ConnectionPool] = {}
        super().__init__(
            connection_class=key_connection(connection_class),
            max_connections=max_connections,
            **self._key_options(self.home_slot, patience if resends else 0.0),
        )

    def node(self, address: Address) -> redis.ConnectionPool:
        """The pool of one node, made when it is first asked for."""
        found = self._nodes.get(address)
        if found is None:
            found = redis.ConnectionPool(
                connection_class=self.plain_class,
                max_connections=self.max_connections,
                **self._to(address),
            )
            self._nodes[address] = found
        return found

    def of_key(self, key: str) -> redis.ConnectionPool:
        """A pool whose connections belong to that key. They try everything once: for callers that must not wait."""
        options = {**self._key_options(slot_of_key(key), 0.0), "socket_connect_timeout": self._brief_seconds}
        return redis.ConnectionPool(connection_class=self.connection_class, **options)

    def of_node(self, address: Address) -> redis.ConnectionPool:
        """A pool whose connections go to one node, whatever it serves; they try once, as those of :meth:`of_key` do."""
        options = {**self._to(address), "socket_connect_timeout": self._brief_seconds}
        return redis.ConnectionPool(connection_class=self.plain_class, **options)

    def masters(self) -> list[tuple[Address, redis.Redis]]:
        """A client of each master. Raises NotExecuted where no node answers, OptionError where it is no cluster."""
        return [(found, redis.Redis(connection_pool=self.node(found))) for found in self.map.masters()]

    def disconnect(self, inuse_connections: bool = True) -> None:
        """Closes connections, those to nodes too."""
        super().disconnect(inuse_connections)
        for pool in list(self._nodes.values()):
            pool.disconnect(inuse_connections)

    def _key_options(self, slot: int, patience: float) -> dict[str, Any]:
        return {**self.plain_options, "cluster_map": self.map, "slot": slot, "retry": PatientRetry(patience)}

    def _to(self, address: Address) -> dict[str, Any]:
        """What connections to one node are made of; they try once."""
        own = {"host": address.host, "port": address.port, "retry": Retry(NoBackoff(), 0)}
        return {**self.plain_options, **own}

    @property
    def _brief_seconds(self) -> float:
        return min(self.plain_options.get("socket_connect_timeout") or BRIEF_SECONDS, BRIEF_SECONDS)

    def _ask_for_slots(self, node: Address) -> Any:
        seconds = self._brief_seconds
        limits = {"socket_timeout": seconds, "socket_connect_timeout": seconds}
        connection: Any = self.plain_class(**{**self._to(node), **limits})
        try:
            connection.send_command("CLUSTER", "SLOTS")
            return connection.read_response()
        finally:
            connection.disconnect()


def slot_of_key(key: str | bytes) -> int:
    """The slot of a key: of what stands between its first braces, or of the whole."""
    return int(key_slot(key.encode() if isinstance(key, str) else key))
