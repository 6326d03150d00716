"""Consuming from a cluster: a consumer for each queue, which may be on any node, and one credit for all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

from kombu.log import get_logger

from delayhub.engine import EngineOptions
from delayhub.engine.claim import Limits
from delayhub.redis_cluster import ClusterPool
from delayhub.transport.consuming.buffer import Buffer
from delayhub.transport.consuming.consumer import PERIOD, SLICE, ConsumedChannel
from delayhub.transport.consuming.lane_consumer import LaneConsumer
from delayhub.transport.redis_wire import RedisWire
from delayhub.transport.waking.event_loop import EventLoop
from delayhub.transport.waking.nudge import Nudge

logger = get_logger(__name__)


class ClusterConsumedChannel(ConsumedChannel, Protocol):
    """What a cluster's consumer needs of its channel."""

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        """What is called when a connection of that kind can be read."""

    def unwatch_kind(self, kind: str) -> None:
        """Watches connections of that kind no more."""


class ClusterConsumer:
    """Claims for one channel; stands for a :class:`Consumer`.

    A script or a blocking pop touches one slot only, so each queue has its own claim and its own bell.

    Args:
        channel: what it claims for.
        buffer: where claimed messages wait.
        options: the engine's.
        pool: the cluster.
    """

    def __init__(
        self, channel: ClusterConsumedChannel, *, buffer: Buffer, options: EngineOptions, pool: ClusterPool
    ) -> None:
        self.channel = channel
        self.buffer = buffer
        self.book = buffer.book
        self.options = options
        self.pool = pool
        self.nudge = Nudge()
        self.lanes: dict[str, LaneConsumer] = {}
        self._closed = False
        self.book.bells.add(self.nudge.give)
        channel.handlers["NUDGE"] = self.on_nudge

    @property
    def wanted(self) -> bool:
        """Whether any queue is to be claimed from as soon as there is credit."""
        return any(lane.wanted for lane in self.lanes.values())

    @wanted.setter
    def wanted(self, wanted: bool) -> None:
        for lane in self.lanes.values():
            lane.wanted = wanted

    @property
    def next_claim_at(self) -> float:
        """When it wants to claim again, on the monotonic clock."""
        return min((lane.next_claim_at for lane in self.lanes.values()), default=float("inf"))

    # ------------------------------------------------------------ turns

    def take_turn(self) -> None:
        """Called at every turn of the loop; acknowledgements of queues that are not consumed travel all the same."""
        if self._closed:
            return
        self._follow()
        self.channel.watch_nudges(self.nudge)
        self.turn()
        if self.book.done and any(lease.lane not in self.lanes for lease in self.book.done.copy()):
            self.book.flush_quietly()

    def turn(self) -> None:
        """Lets each queue claim: first those of which more is known, then those whose bell rang."""
        lanes = list(self.lanes.values())
        if len(lanes) > 1:
            lanes.sort(key=lambda lane: (not lane.more, not lane.wanted, lane.claims.sent_at))
        for lane in lanes:
            lane.turn()

    def on_nudge(self) -> bool:
        """Acknowledgements wait to be sent, or the buffer has messages; whether a message was handed over."""
        self.nudge.take()
        if any(lane.limits is Limits.HELD for lane in self.lanes.values()):
            self.turn()  # asks for the process that is free, before another message takes it
        delivered = self.deliver()
        self.turn()
        return delivered

    def deliver(self) -> bool:
        """Hands messages over for a slice of time (without a loop: one); whether there were any."""
        if self._closed or any(lane.expects_urgent for lane in self.lanes.values()):
            return False
        delivered = self.buffer.hand_over(seconds=SLICE if self.channel.hub is not None else 0.0)
        if self.buffer.has_next:
            self.nudge.give()
        return delivered

    def on_process_free(self) -> None:
        """A message is done, also one that was acknowledged before; called by any thread."""
        if self.buffer.limiting:
            self.nudge.give()

    def require_replies(self) -> None:
        """Drops connections on which a reply is long overdue."""
        for lane in self.lanes.values():
            lane.require_replies()

    def close(self) -> None:
        """Gives back everything that was not handed over, also what claims under way still bring."""
        if self._closed:
            return
        self.book.bells.discard(self.nudge.give)
        for lane in self.lanes.values():
            lane.end()
        self._closed = True
        self.buffer.clear()
        self.nudge.close()

    # ------------------------------------------------------------ parts

    def credit(self, queue: str, *, buffered: int, unlimited: int) -> int:
        """A queue's share of what may be claimed now: an equal part for each that has reason to claim.

        The channel's credit is one number: what other queues have asked for is taken off.
        """
        others = [lane for name, lane in self.lanes.items() if name != queue]
        free = self.channel.qos.credit(buffered=buffered, unlimited=unlimited) - sum(lane.asked for lane in others)
        waiting = sum(lane.has_news for lane in others)
        return max(0, -(-free // (1 + waiting)))

    def _follow(self) -> None:
        """Has a consumer for each queue that the channel consumes, and no other."""
        queues = self.channel.active_queues
        if self.lanes.keys() == set(queues):
            return
        for name in [name for name in self.lanes if name not in queues]:
            self.lanes.pop(name).end()
        for name in queues:
            if name not in self.lanes:
                self.lanes[name] = self._lane(name)
        for lane in self.lanes.values():
            lane.period = PERIOD * max(1.0, len(self.lanes) / 2)

    def _lane(self, name: str) -> LaneConsumer:
        view = LaneView(self, name)
        lane = LaneConsumer(
            view, queue=name, buffer=self.buffer, options=self.options, pool=self.pool, nudge=self.nudge
        )

        def on_claim() -> bool:
            delivered = lane.on_claim()
            if self.channel.hub is not None and len(self.lanes) > 1:
                self.turn()  # the credit that it left is another's
            return delivered

        self.channel.handlers.update({f"CLAIM {name}": on_claim, f"BELL {name}": lane.on_bell})
        return lane


class LaneView:
    """A channel, and its credit, as far as one queue goes."""

    def __init__(self, group: ClusterConsumer, queue: str) -> None:
        self.group = group
        self.queue = queue

    @property
    def active_queues(self) -> list[str]:
        """The queue, while it is consumed."""
        return [self.queue] if self.queue in self.group.channel.active_queues else []

    @property
    def no_ack_queues(self) -> Collection[str]:
        """Queues whose messages need no acknowledgement."""
        return self.group.channel.no_ack_queues

    @property
    def hub(self) -> EventLoop | None:
        """The channel's event loop."""
        return self.group.channel.hub

    @property
    def qos(self) -> Any:
        """Itself: its :meth:`credit` is the queue's share."""
        return self

    @property
    def unacknowledged(self) -> int:
        """How many messages were delivered and are not done."""
        return self.group.channel.qos.unacknowledged

    def credit(self, *, buffered: int, unlimited: int) -> int:
        """How many more messages of the queue may be claimed now."""
        return self.group.credit(self.queue, buffered=buffered, unlimited=unlimited)

    @property
    def asked_free(self) -> int:
        """How many free processes claims of other queues ask for."""
        others = (lane for name, lane in self.group.lanes.items() if name != self.queue)
        return sum(lane.asked_free for lane in others if lane.claims.sent)

    def deliver(self) -> bool:
        """Hands messages of all queues over; whether there were any."""
        return self.group.deliver()

    def watch(self, wire: RedisWire, kind: str) -> None:
        """Calls the queue's handler of that kind when the wire's connection can be read."""
        self.group.channel.watch(wire, f"{kind} {self.queue}")

    def watch_nudges(self, nudge: Nudge) -> None:
        """The channel watches them by itself."""

    def unwatch(self) -> None:
        """Watches none of the queue's connections."""
        for kind in ("CLAIM", "BELL"):
            self.group.channel.unwatch_kind(f"{kind} {self.queue}")
