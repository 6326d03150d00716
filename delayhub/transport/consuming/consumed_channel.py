"""ConsumedChannel: what a consumer needs of the channel that it claims for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from delayhub.transport.consuming.lease_qos import LeaseQoS
from delayhub.transport.redis_wire import RedisWire
from delayhub.transport.waking.event_loop import EventLoop
from delayhub.transport.waking.nudge import Nudge


class ConsumedChannel(Protocol):
    """The part of a channel that its consumer uses."""

    @property
    def active_queues(self) -> list[str]:
        """The queues that are consumed, without those of fanout exchanges."""

    @property
    def no_ack_queues(self) -> Collection[str]:
        """Those of them whose messages need no acknowledgement."""

    @property
    def qos(self) -> LeaseQoS:
        """The channel's unacknowledged messages."""

    @property
    def hub(self) -> EventLoop | None:
        """The event loop; None where callers poll by themselves (``drain_events``)."""

    def watch(self, wire: RedisWire, kind: str) -> None:
        """Calls :meth:`Consumer.on_claim` or ``on_bell`` when the wire's connection can be read."""

    def watch_nudges(self, nudge: Nudge) -> None:
        """Calls :meth:`Consumer.on_nudge` when the consumer is nudged."""
