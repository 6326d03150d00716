"""The Redis connections of a broker, for clients that are no channel."""

from __future__ import annotations

from typing import Any

import redis
from kombu import Connection
from kombu.transport import redis as kombu_redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from delayhub.errors import OptionError
from delayhub.transport.cluster_transport import ClusterChannel, ClusterTransport
from delayhub.transport.options import TransportOptions
from delayhub.transport.transport import SentinelTransport, Transport

#: How many connections a pool may have that threads share: redis-py has no word for "as many as they need".
UNBOUNDED = 2**31


def broker_pool(connection: Connection, *, timeout_seconds: float) -> redis.ConnectionPool:
    """A pool of connections to the server, or the cluster, that the broker's transport would use; none is open yet.

    The transport's own code builds it, so TLS, sockets, sentinels, credentials and ``transport_options`` count as they
    do for workers. A call is tried once and ends after ``timeout_seconds``.

    Raises:
        OptionError: the broker is not one Redis server behind DelayHub's transport.
    """
    pool: redis.ConnectionPool = broker_channel(connection, timeout_seconds=timeout_seconds).pool
    return pool


def broker_channel(connection: Connection, *, timeout_seconds: float) -> Any:
    """A channel that is not connected, for its pool and for the names that it gives to keys; it publishes nothing.

    Raises:
        OptionError: as :func:`broker_pool`.
    """
    transport: Any = connection.transport
    if not isinstance(transport, Transport):
        name = connection.transport_cls
        why = " (Celery takes a URL without :// for one)" if name == "amqp" else ""
        raise OptionError(f"{name}:// is no broker of DelayHub's{why}: use delayhub:// or delayhubs://")
    if len(connection.alt) > 1 and not isinstance(transport, SentinelTransport | ClusterTransport):
        raise OptionError(
            "the broker URL names several servers, and timers need one: name one, or use delayhub-sentinel://"
            " or delayhub-cluster://"
        )
    # kombu connects in Channel.__init__; only the part that reads the options is wanted.
    channel: Any = transport.Channel.__new__(transport.Channel)
    channel.connection = transport
    channel.options = TransportOptions()  # of which timers have no use
    given = connection.transport_options or {}
    for name in transport.Channel.from_transport_options:
        if name in given:
            setattr(channel, name, given[name])
    channel.socket_timeout = channel.socket_connect_timeout = timeout_seconds
    channel.retry_on_timeout, channel.health_check_interval = False, 0
    channel._legacy_keyprefix_fanout = kombu_redis.Channel.keyprefix_fanout
    pool: redis.ConnectionPool
    if isinstance(channel, ClusterChannel):
        pool = channel.make_pool(patience=timeout_seconds, resends=False)
    else:
        pool = channel._get_pool()
        pool.connection_kwargs["retry"] = Retry(NoBackoff(), retries=0)
    # kombu allows ten; a web server has a thread for each request.
    pool.max_connections = UNBOUNDED
    channel._pool = pool
    return channel
