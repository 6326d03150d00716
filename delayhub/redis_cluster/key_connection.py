"""A connection that belongs to a key: it looks up the key's node whenever it connects."""

from __future__ import annotations

import socket
from typing import Any

import redis
from redis.exceptions import ClusterDownError, MovedError

from delayhub.redis_cluster.cluster_map import Address, ClusterMap
from delayhub.redis_cluster.refusals import REFUSALS, NotExecuted, names_another_master, said


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
