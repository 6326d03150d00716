"""The transports: ``delayhub://``, ``delayhubs://`` (TLS) and ``delayhub-sentinel://``."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Mapping
from typing import Any

import redis
from kombu.log import get_logger
from kombu.transport import redis as kombu_redis
from kombu.utils.url import url_to_parts
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from delayhub.errors import OptionError
from delayhub.transport.channel import Channel
from delayhub.transport.hooks import HOOKS_OPTION
from delayhub.transport.kombu_versions import HAS_CARE
from delayhub.transport.poller import Poller
from delayhub.transport.timer_queue import TimerQueue
from delayhub.transport.waking.event_loop import EventLoop

logger = get_logger(__name__)


class Transport(kombu_redis.Transport):
    """Celery's broker on Redis with due times, leases and dead letters.

    Raises:
        OptionError: the URL begins with ``delayhub+sentinel://``, which kombu would read as another address.
    """

    Channel = Channel
    # Celery's mingle and gossip, and worker_disable_prefetch, ask for the type they know.
    driver_type = "redis"
    driver_name = "delayhub"

    def __init__(self, client: Any, **options: Any) -> None:
        if (client.hostname or "").startswith("sentinel://"):
            # kombu takes what stands before a plus for the transport, and ignores the rest.
            raise OptionError("the scheme of a broker behind Sentinel is delayhub-sentinel://")
        super().__init__(client, **options)
        self.cycle = Poller()
        self.timer_queues: dict[str, TimerQueue] = {}

    def register_with_event_loop(self, connection: Any, loop: EventLoop) -> None:
        """Lets the event loop wake our consumers."""
        if HOOKS_OPTION not in self.client.transport_options and "celery.worker" in sys.modules:
            logger.error(
                "The Celery app of this worker was not given to delayhub.install(app): etas without a time zone are in"
                " UTC, a lost connection makes running tasks run twice, and dead tasks have no result"
            )
        self.cycle.hub = loop
        super().register_with_event_loop(connection, loop)
        if not HAS_CARE:
            self.cycle.care_in(loop, seconds=self.client.transport_options.get("health_check_interval", 25))


class SecureTransport(Transport):
    """The same over TLS. The server's certificate is checked, unless ``ssl_cert_reqs`` says otherwise."""

    def __init__(self, client: Any, **options: Any) -> None:
        if not isinstance(client.ssl, dict):
            client.ssl = {"ssl_cert_reqs": ssl.CERT_REQUIRED}
        super().__init__(client, **options)


class SentinelChannel(Channel, kombu_redis.SentinelChannel):
    """A channel whose Redis is the server that Sentinel calls the master."""

    connection_class_ssl = kombu_redis.SentinelChannel.connection_class_ssl

    from_transport_options = (
        *Channel.from_transport_options,
        *kombu_redis.SentinelChannel.from_transport_options,
    )

    def _sentinel_managed_pool(self, asynchronous: bool = False) -> Any:
        # kombu's own asks only those sentinels whose URLs have its own scheme.
        name = getattr(self, "master_name", None)
        if name is None:
            raise OptionError("a broker behind Sentinel needs the transport option master_name")
        params = self._connparams(asynchronous)
        first = (params.pop("host"), params.pop("port"))
        urls = [url_to_parts(url) for url in self.connection.client.alt]
        manager = Sentinel(  # type: ignore[no-untyped-call]  # redis-py has no types here
            [(url.hostname, url.port or self.connection.default_port) for url in urls] or [first],
            min_other_sentinels=getattr(self, "min_other_sentinels", 0),
            sentinel_kwargs={**_brief(params), **(getattr(self, "sentinel_kwargs", None) or {})},
            **params,
        )
        # kombu closes the connections to the sentinels by these.
        setattr(self, "_async_sentinel_manager" if asynchronous else "_sentinel_manager", manager)
        return manager.master_for(name, redis.Redis).connection_pool  # type: ignore[no-untyped-call]  # nor here


def _brief(params: Mapping[str, Any]) -> dict[str, Any]:
    """How connections to sentinels are made, by how those to the master are: with the same limits, and tried once.

    Where a sentinel is away the next one is asked. redis-py would try each for seconds first, and wait for one that
    hangs without end as soon as ``sentinel_kwargs`` are given.
    """
    return {
        **{name: value for name, value in params.items() if name.startswith("socket_")},
        "retry": Retry(NoBackoff(), retries=0),
    }


class SentinelTransport(Transport):
    """The same behind Sentinel: ``delayhub-sentinel://a:26379;delayhub-sentinel://b:26379``, option ``master_name``."""

    default_port = 26379
    Channel = SentinelChannel
