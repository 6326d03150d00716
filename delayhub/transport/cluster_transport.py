"""The transports on a Redis Cluster: ``delayhub-cluster://a:6379;delayhub-cluster://b:6379``, and over TLS."""

from __future__ import annotations

import ssl
from typing import Any

import redis
from kombu.utils.url import url_to_parts

from delayhub.errors import OptionError
from delayhub.redis_cluster import Address, ClusterPool, client_of
from delayhub.redis_cluster.cluster_url import HOME, ONLY_DATABASE, require_hosts
from delayhub.transport.channel import Channel
from delayhub.transport.consuming.buffer import Buffer
from delayhub.transport.consuming.cluster_consumer import ClusterConsumer
from delayhub.transport.options import ANSWER_SECONDS
from delayhub.transport.transport import Transport

#: Seconds for which acknowledgements and renewals of leases are tried again in one go; they come again by themselves.
BOOK_SECONDS = 1.0


class ClusterChannel(Channel):
    """A channel whose queues are where their keys are; kombu's own keys and pub/sub are on the node of one hash tag."""

    keyprefix_queue = f"{HOME}_kombu.binding.%s"
    keyprefix_binding_deadlines = f"{HOME}_kombu.binding_deadlines"
    keyprefix_binding_permanent = f"{HOME}_kombu.binding_permanent.%s"

    def unwatch_kind(self, kind: str) -> None:
        """Watches connections of that kind no more."""
        self.poller.unwatch_kind(self, kind)

    def _make_consumer(self, buffer: Buffer) -> ClusterConsumer:
        return ClusterConsumer(self, buffer=buffer, options=self.options.engine(), pool=self.async_pool)

    def _get_pool(self, asynchronous: bool = False) -> ClusterPool:
        return self.make_pool(asynchronous=asynchronous, patience=self.options.failover_seconds, resends=True)

    def make_pool(self, *, patience: float, resends: bool, asynchronous: bool = False) -> ClusterPool:
        """The cluster's connections by the transport's options; see :class:`ClusterPool`. Raises OptionError."""
        params = self._connparams(asynchronous)
        if params.pop("db", 0):
            raise OptionError(ONLY_DATABASE)
        this: Any = self
        this.keyprefix_fanout = this.keyprefix_fanout.format(db=0)
        first = Address(params.pop("host"), params.pop("port"))
        port = self.connection.default_port
        nodes = [url_to_parts(url) for url in self.connection.client.alt]
        seeds = [Address(node.hostname or first.host, node.port or port) for node in nodes] or [first]
        require_hosts(seed.host for seed in seeds)
        params["socket_timeout"] = params.get("socket_timeout") or ANSWER_SECONDS
        params.pop("retry_on_timeout", None)
        return ClusterPool(seeds=seeds, home=HOME, patience=patience, resends=resends, **params)

    def _broker_uri(self, client: Any) -> str:
        # kombu goes on to the next of the URLs after each failure; it is the same cluster.
        return ";".join(sorted(client.alt)) or super()._broker_uri(client)

    def _connect_book(self) -> redis.Redis:
        return client_of(self.make_pool(patience=BOOK_SECONDS, resends=True))


class ClusterTransport(Transport):
    """Celery's broker on a Redis Cluster, database 0. A URL with one node is enough; several are better."""

    Channel = ClusterChannel


class SecureClusterTransport(ClusterTransport):
    """The same over TLS. The servers' certificates are checked, unless ``ssl_cert_reqs`` says otherwise."""

    def __init__(self, client: Any, **options: Any) -> None:
        if not isinstance(client.ssl, dict):
            client.ssl = {"ssl_cert_reqs": ssl.CERT_REQUIRED}
        super().__init__(client, **options)
