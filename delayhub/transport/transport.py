"""The transports: ``delayhub://``, ``delayhubs://`` (TLS) and ``delayhub+sentinel://``."""

from __future__ import annotations

from typing import Any

from kombu.transport import TRANSPORT_ALIASES
from kombu.transport import redis as kombu_redis

from delayhub.transport.channel import Channel, TimerQueue
from delayhub.transport.poller import Poller

ALIASES = {
    "delayhub": "delayhub.transport.transport:Transport",
    "delayhubs": "delayhub.transport.transport:SecureTransport",
    "delayhub+sentinel": "delayhub.transport.transport:SentinelTransport",
}


def register() -> None:
    """Makes kombu know the transports by their schemes."""
    TRANSPORT_ALIASES.update(ALIASES)


class Transport(kombu_redis.Transport):
    """Celery's broker on Redis with due times, leases and dead letters."""

    Channel = Channel
    # Celery's mingle and gossip, and worker_disable_prefetch, ask for the type they know.
    driver_type = "redis"
    driver_name = "delayhub"

    def __init__(self, client: Any, **options: Any) -> None:
        super().__init__(client, **options)
        self.cycle = Poller()
        self.timer_queues: dict[str, TimerQueue] = {}

    def register_with_event_loop(self, connection: Any, loop: Any) -> None:
        """Lets the event loop wake our consumers."""
        self.cycle.hub = loop
        super().register_with_event_loop(connection, loop)


class SecureTransport(Transport):
    """The same over TLS."""

    def __init__(self, client: Any, **options: Any) -> None:
        client.ssl = client.ssl or True
        super().__init__(client, **options)


class SentinelChannel(Channel, kombu_redis.SentinelChannel):
    """A channel whose Redis is whichever Sentinel says is the master."""

    from_transport_options = (
        *Channel.from_transport_options,
        *kombu_redis.SentinelChannel.from_transport_options,
    )


class SentinelTransport(Transport):
    """The same behind Sentinel: ``delayhub+sentinel://host:26379`` with the transport option ``master_name``."""

    default_port = 26379
    Channel = SentinelChannel
