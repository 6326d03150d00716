"""Consuming from a cluster: a consumer for each queue and slot, on whichever node; one credit for all of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, Protocol

import redis
from kombu.log import get_logger

from delayhub.engine import EngineOptions
from delayhub.engine.claim import Limits
from delayhub.engine.lane_tag import queue_of_lane, slot_lane
from delayhub.engine.queue_slots import FRESH_SECONDS, QueueSlots, slots_command
from delayhub.engine.scripts import script
from delayhub.redis_cluster import ClusterPool
from delayhub.transport.consuming.buffer import Buffer
from delayhub.transport.consuming.consumed_channel import ConsumedChannel
from delayhub.transport.consuming.consumer import PERIOD, SLICE
from delayhub.transport.consuming.lane_consumer import LaneConsumer
from delayhub.transport.consuming.lookout import NODE_SECONDS, LookedAt, Lookout
from delayhub.transport.redis_wire import Command, RedisWire
from delayhub.transport.waking.bell import TIMEOUT_SECONDS
from delayhub.transport.waking.event_loop import EventLoop
from delayhub.transport.waking.nudge import Nudge

logger = get_logger(__name__)

#: Lanes that are looked at are claimed from without news so many times less often.
LOOKED_AT = 4.0
#: Seconds between claims of slot 0 of an idle queue, which also say whether its slots have changed.
FIRST_SLOT_SECONDS = 8.0


class ClusterConsumedChannel(ConsumedChannel, LookedAt, Protocol):
    """What a cluster's consumer needs of its channel."""

    def slots(self, queue: str) -> QueueSlots:
        """The slots of a queue."""


class ClusterConsumer:
    """Claims for one channel; stands for a :class:`Consumer`.

    A script or a blocking pop touches one slot of the cluster only, so each queue has its own claim and its own bell; a
    queue that is cut into slots has them for each slot.

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
        #: Looks at lanes that claim seldom.
        self.lookout = Lookout(
            channel, pool=pool, key_prefix=options.key_prefix, on_due=self.on_due, wake=self.take_turn
        )
        #: The slots of each queue that is consumed, and when they are to be asked for again.
        self.slots: dict[str, QueueSlots] = {}
        self.ask_slots_at: dict[str, float] = {}
        #: The credit that claims under way have taken, and how many lanes have reason to claim.
        self.asked = 0
        self._having_news = 0
        #: Acknowledgements that wait, by lane, while lanes get their turns.
        self._acks: Counter[str] | None = None
        self._followed: list[str] | None = None
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
        return min(self.lookout.next_at, *(lane.next_claim_at for lane in self.lanes.values()), float("inf"))

    # ------------------------------------------------------------ turns

    def take_turn(self) -> None:
        """Called at every turn of the loop; acknowledgements of queues that are not consumed travel all the same."""
        if self._closed:
            return
        self._follow()
        self.channel.watch_nudges(self.nudge)
        self.turn()
        self.lookout.look(self._seldom_asked())
        if self.book.done and any(lease.lane not in self.lanes for lease in self.book.done.copy()):
            self.book.flush_quietly()

    def turn(self) -> None:
        """Lets each queue claim: first those of which more is known, then those whose bell rang."""
        now = time.monotonic()
        self._acks = Counter(lease.lane for lease in self.book.done.copy())
        try:
            lanes = [lane for lane in self.lanes.values() if lane.lane in self._acks or not lane.is_idle(now)]
            if len(lanes) > 1:
                lanes.sort(key=lambda lane: (not lane.more, not lane.wanted, lane.claims.sent_at))
            self._having_news = sum(lane.has_news for lane in lanes)
            for lane in lanes:
                had_news = lane.has_news
                lane.turn()
                self._having_news -= had_news
        finally:
            self._acks = None
            self._having_news = 0

    def on_due(self, lanes: Collection[str]) -> None:
        """A look found something to claim in these lanes."""
        for name in lanes:
            lane = self.lanes.get(name)
            if lane is not None and not lane.claims.sent:
                lane.wanted = True
        self.turn()

    def on_nudge(self) -> bool:
        """Acknowledgements wait to be sent, or the buffer has messages; whether a message was handed over."""
        self.nudge.take()
        if self.buffer.limiting and any(lane.limits is Limits.HELD for lane in self.lanes.values()):
            self.turn()  # asks for the process that is free, before another message takes it
        delivered = self.deliver()
        self.turn()
        return delivered

    def deliver(self) -> bool:
        """Hands messages over for a slice of time (without a loop: one); whether there were any."""
        if self._closed:
            return False
        if self.buffer.limiting and any(lane.expects_urgent for lane in self.lanes.values()):
            return False
        delivered = self.buffer.hand_over(seconds=SLICE if self.channel.hub is not None else 0.0)
        if self.buffer.has_next:
            self.nudge.give()
        return delivered

    def on_cancel(self) -> None:
        """A queue is not consumed any more: its lanes stop listening."""
        for lane in self.lanes.values():
            lane.on_cancel()

    def on_process_free(self) -> None:
        """A message is done, also one that was acknowledged before; called by any thread."""
        if self.buffer.limiting:
            self.nudge.give()

    def require_replies(self) -> None:
        """Drops connections on which a reply is long overdue."""
        for lane in self.lanes.values():
            lane.require_replies()
        self.lookout.require_replies()

    def close(self) -> None:
        """Gives back everything that was not handed over, also what claims under way still bring."""
        if self._closed:
            return
        self.book.bells.discard(self.nudge.give)
        for lane in self.lanes.values():
            lane.end()
        self.lookout.close()
        self._closed = True
        self.buffer.clear()
        self.nudge.close()

    # ------------------------------------------------------------ parts

    def credit(self, lane: str, *, buffered: int, unlimited: int) -> int:
        """A lane's share of what may be claimed now: an equal part for each that has reason to claim.

        The channel's credit is one number: what other lanes have asked for is taken off.
        """
        own = self.lanes[lane]
        free = self.channel.qos.credit(buffered=buffered, unlimited=unlimited) - self.asked + own.asked
        waiting = max(0, self._having_news - own.has_news)
        return max(0, -(-free // (1 + waiting)))

    def waiting_acks(self, lane: str) -> int:
        """How many acknowledgements of a lane wait to be sent."""
        if self._acks is not None:
            return self._acks[lane]
        return sum(lease.lane == lane for lease in self.book.done.copy())

    def slots_command(self, lane: str) -> Command | None:
        """The command that asks slot 0 of a queue for its slots, at times."""
        known, now = self.slots.get(lane), time.monotonic()
        if known is None or now < self.ask_slots_at[lane]:
            return None
        self.ask_slots_at[lane] = now + FRESH_SECONDS
        return script("queue_slots"), slots_command(lane, known, prefix=self.options.key_prefix)

    def note_slots(self, queue: str, reply: Any) -> None:
        """Takes in a queue's slots. Where there are more places than before, their consumers begin at the next turn."""
        before = self.slots.get(queue)
        if before is not None:
            self.slots[queue] = QueueSlots(*reply)
            if self.slots[queue].places != before.places:
                self._followed = None
                self.nudge.give()

    def _follow(self) -> None:
        """Has a consumer for each queue that the channel consumes, and for each of its slots, and no other."""
        queues = self.channel.active_queues
        if queues == self._followed:
            return
        for queue in self.slots.keys() - set(queues):
            del self.slots[queue], self.ask_slots_at[queue]
        wanted: dict[str, bool] = {}
        for queue in queues:
            is_grown = queue in self.slots
            if not is_grown:
                self.slots[queue] = self.channel.slots(queue)
                self.ask_slots_at[queue] = time.monotonic() + FRESH_SECONDS
            wanted.update((slot_lane(queue, slot), is_grown) for slot in range(self.slots[queue].places))
        for lane in [lane for lane in self.lanes if lane not in wanted]:
            self.lanes.pop(lane).end()
        for lane, is_grown in wanted.items():
            if lane not in self.lanes:
                self.lanes[lane] = self._lane(lane)
                if is_grown:
                    self._begin_slot(lane)
        self._followed = list(queues)
        self._set_periods(len(queues))

    def _set_periods(self, queues: int) -> None:
        """Idle lanes are asked 1.3 times a second together, and bells that do not ring are waited for longer.

        Where that would be seldom, a lookout looks at them, and they are asked less often still.
        """
        count = len(self.lanes)
        period = PERIOD * max(1.0, count * 0.75)
        for lane in self.lanes.values():
            lane.looked_at = period > NODE_SECONDS and lane.lane not in self.buffer.timer_queues
            lane.period = period * (LOOKED_AT if lane.looked_at else 1.0)
            lane.bell.seconds = max(TIMEOUT_SECONDS, 3 * count)
            if lane.lane in self.slots:
                lane.period = min(lane.period, max(FIRST_SLOT_SECONDS * queues, PERIOD))
        if any(lane.looked_at for lane in self.lanes.values()):
            self.lookout.begin()

    def _seldom_asked(self) -> Iterator[str]:
        """The lanes that a look would tell something of; none where there is no credit to claim with."""
        now = time.monotonic()
        if self.channel.qos.credit(buffered=len(self.buffer), unlimited=1) > 0:
            for lane in self.lanes.values():
                if lane.looked_at and now - lane.claims.sent_at >= NODE_SECONDS and not lane.has_news:
                    yield lane.lane

    def _begin_slot(self, lane: str) -> None:
        try:
            self.buffer.hooks.on_consume(self.book.queue(lane, queue_of_lane(lane)))
        except (redis.RedisError, OSError) as error:
            logger.warning("limits of tasks may not hold in a new slot of %s: %s", queue_of_lane(lane), error)

    def _lane(self, name: str) -> LaneConsumer:
        view = LaneView(self, name)
        lane = LaneConsumer(view, lane=name, buffer=self.buffer, options=self.options, pool=self.pool, nudge=self.nudge)

        def on_claim() -> bool:
            delivered = lane.on_claim()
            if self.channel.hub is not None and len(self.lanes) > 1:
                self.turn()  # the credit that it left is another's
            return delivered

        self.channel.handlers.update({f"CLAIM {name}": on_claim, f"BELL {name}": lane.on_bell})
        return lane


class LaneView:
    """A channel, and its credit, as far as one lane goes: a queue, or a slot of it."""

    def __init__(self, group: ClusterConsumer, lane: str) -> None:
        self.group = group
        self.lane = lane
        self.queue = queue_of_lane(lane)

    @property
    def active_queues(self) -> list[str]:
        """The lane, while its queue is consumed."""
        return [self.lane] if self.queue in self.group.channel.active_queues else []

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
        """Itself: its :meth:`credit` is the lane's share."""
        return self

    @property
    def unacknowledged(self) -> int:
        """How many messages were delivered and are not done."""
        return self.group.channel.qos.unacknowledged

    def credit(self, *, buffered: int, unlimited: int) -> int:
        """How many more messages of the lane may be claimed now."""
        return self.group.credit(self.lane, buffered=buffered, unlimited=unlimited)

    @property
    def asked_free(self) -> int:
        """How many free processes claims of other queues ask for."""
        others = (lane for name, lane in self.group.lanes.items() if name != self.lane)
        return sum(lane.asked_free for lane in others if lane.claims.sent)

    def waiting_acks(self) -> int:
        """How many acknowledgements of the lane wait to be sent."""
        return self.group.waiting_acks(self.lane)

    def note_asked(self, more: int) -> None:
        """A claim asks for so much more of the channel's credit."""
        self.group.asked += more

    def slots_command(self) -> Command | None:
        """A command that asks how many slots the queue has."""
        return self.group.slots_command(self.lane)

    def note_slots(self, reply: Any) -> None:
        """Takes in the reply to it."""
        self.group.note_slots(self.queue, reply)

    def deliver(self) -> bool:
        """Hands messages of all queues over; whether there were any."""
        return self.group.deliver()

    def watch(self, wire: RedisWire, kind: str) -> None:
        """Calls the queue's handler of that kind when the wire's connection can be read."""
        self.group.channel.watch(wire, f"{kind} {self.lane}")

    def watch_nudges(self, nudge: Nudge) -> None:
        """The channel watches them by itself."""

    def unwatch(self) -> None:
        """Watches none of the queue's connections."""
        for kind in ("CLAIM", "BELL"):
            self.group.channel.unwatch_kind(f"{kind} {self.lane}")
