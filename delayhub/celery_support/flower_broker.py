"""Flower's broker page for our schemes; Flower itself knows only the queues of RabbitMQ and of kombu's Redis.

In ``flowerconfig.py``::

    import delayhub.celery_support.flower_broker

    delayhub.celery_support.flower_broker.install()
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlparse

from flower.utils.broker import Broker, BrokerBase
from kombu import Connection

from delayhub.celery_support.backlog import count_queue
from delayhub.schemes import SCHEMES
from delayhub.transport import register
from delayhub.transport.channel import Channel


class DelayHubBroker(BrokerBase):  # type: ignore[misc]  # flower has no types
    """What Flower asks of a broker: how long queues are."""

    def __init__(self, url: str, *_: Any, **options: Any) -> None:
        self.url = url
        self.transport_options = options.get("broker_options") or {}
        self.ssl = options.get("broker_use_ssl") or False

    async def queues(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """The columns of Flower's table, which are RabbitMQ's: tasks that wait for their time count as not ready."""
        return await asyncio.to_thread(self._count, list(names))

    def _count(self, names: list[str]) -> list[dict[str, Any]]:
        with Connection(self.url, ssl=self.ssl, transport_options=self.transport_options) as connection:
            channel: Channel = connection.default_channel
            return [
                {
                    "name": name,
                    "messages": counts.waiting + counts.ready + counts.parked + counts.leased,
                    "messages_ready": counts.ready,
                    "messages_unacknowledged": counts.leased,
                }
                for name in names
                for counts in (count_queue(channel, name),)
            ]


def install() -> None:
    """Lets Flower show the queues of our brokers; it shows those of other brokers as before."""
    register()
    known = Broker.__new__

    def choose(kind: type[Any], url: str, *arguments: Any, **options: Any) -> Any:
        if urlparse(url).scheme.split("+")[0] in SCHEMES:
            return DelayHubBroker(url, *arguments, **options)
        return known(kind, url, *arguments, **options)

    Broker.__new__ = choose
