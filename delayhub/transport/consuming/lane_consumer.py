"""Consuming one queue of a cluster, or a slot of it, over its own connections; its node's failure stops no other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import redis
from kombu.log import get_logger

from delayhub.engine import EngineOptions, LaneKeys, Lease
from delayhub.engine.claim import MAX_ACKNOWLEDGEMENTS
from delayhub.engine.lane_tag import queue_of_lane
from delayhub.redis_cluster import ClusterPool, NotExecuted
from delayhub.redis_cluster.refusals import FIRST_PAUSE, LONGEST_PAUSE
from delayhub.transport.consuming.buffer import Buffer
from delayhub.transport.consuming.claim_request import ClaimRequest
from delayhub.transport.consuming.consumed_channel import ConsumedChannel
from delayhub.transport.consuming.consumer import Consumer
from delayhub.transport.redis_wire import Command
from delayhub.transport.waking.nudge import Nudge

logger = get_logger(__name__)


class LaneChannel(ConsumedChannel, Protocol):
    """What the consumer of one queue needs: the channel as far as that queue goes."""

    def deliver(self) -> bool:
        """Hands messages over; whether there were any."""

    @property
    def asked_free(self) -> int:
        """How many free processes claims of other queues ask for."""

    def waiting_acks(self) -> int:
        """How many acknowledgements of the lane wait to be sent."""

    def note_asked(self, more: int) -> None:
        """A claim asks for so much more of the channel's credit; less, where negative."""

    def slots_command(self) -> Command | None:
        """A command that asks how many slots the queue has, where it is time to know and this is slot 0."""

    def note_slots(self, reply: Any) -> None:
        """Takes in the reply to it."""

    def unwatch(self) -> None:
        """Watches none of the queue's connections."""


class LaneConsumer(Consumer):
    """A consumer whose connections go where its queue is. After an error it rests, 50 ms at first, and connects again.

    Args:
        channel: the channel, as far as this queue goes.
        lane: the queue's lane, or that of one of its slots.
        buffer: where claimed messages wait, with those of other queues.
        options: the engine's.
        pool: the cluster.
        nudge: that of the channel.
    """

    channel: LaneChannel

    def __init__(
        self,
        channel: LaneChannel,
        *,
        lane: str,
        buffer: Buffer,
        options: EngineOptions,
        pool: ClusterPool,
        nudge: Nudge,
    ) -> None:
        own = pool.of_key(LaneKeys(lane, options.key_prefix).wake)
        super().__init__(channel, buffer=buffer, options=options, pool=own, nudge=nudge)
        self.lane = lane
        self._asked = 0
        self._asks_slots = False
        #: Whether a lookout looks at it meanwhile.
        self.looked_at = False
        self._pause_after_error = 0.0

    @property
    def asked(self) -> int:
        """The credit that a claim under way has taken."""
        return self._asked

    @asked.setter
    def asked(self, asked: int) -> None:
        if asked != self._asked:
            self.channel.note_asked(asked - self._asked)
            self._asked = asked

    def is_idle(self, now: float) -> bool:
        """Whether :meth:`turn` has nothing to do, unless acknowledgements wait."""
        if self.claims.sent:
            return self.bell.is_listening or self.more or bool(self.buffer)
        if self.wanted or self.more or self.limits or now >= self.next_claim_at:
            return False
        return self.bell.is_listening or now < self.resting_until or bool(self.buffer)

    @property
    def has_news(self) -> bool:
        """Whether it has reason to claim now, and has not asked yet."""
        if self.claims.sent:
            return False
        return self.wanted or self.more or time.monotonic() >= self.next_claim_at

    # ------------------------------------------------------------ verbs of a consumer

    def turn(self) -> None:
        """Claims, where it is time and there is reason to; rests after an error."""
        if time.monotonic() >= self.resting_until:
            self._guarded(super().turn)

    def on_claim(self) -> bool:
        """The claim's reply is there; whether a message was handed over."""
        return bool(self._guarded(super().on_claim))

    def deliver(self) -> bool:
        """Hands messages of all queues over; whether there were any."""
        return self.channel.deliver()

    def on_bell(self) -> bool:
        """The bell's connection has something to read."""
        return bool(self._guarded(super().on_bell))

    def require_replies(self) -> None:
        """Drops a connection on which a reply is long overdue, and rests."""
        self._guarded(super().require_replies)

    def end(self) -> None:
        """Claims no more, and closes its connections; what it has claimed stays in the buffer."""
        if not self._closed:
            self.channel.unwatch()
            self._end_claims()

    # ------------------------------------------------------------ private

    def _guarded(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (redis.RedisError, OSError) as error:
            self._rest(error)
            return None

    def _rest(self, error: Exception) -> None:
        level = logger.info if isinstance(error, NotExecuted) or self._pause_after_error else logger.warning
        level("cannot claim from %s now, trying again: %s", queue_of_lane(self.lane), error, extra={"action": "claim"})
        self.channel.unwatch()
        self._unsend()
        self.claims.close()
        self.bell.wire.close()
        self._pause_after_error = min(max(2 * self._pause_after_error, FIRST_PAUSE), LONGEST_PAUSE)
        self.more, self.wanted = False, True
        self.resting_until = self.next_claim_at = time.monotonic() + self._pause_after_error
        if self.channel.hub is not None:
            self.alarm.attach(self.channel.hub)
            self.alarm.set(self.resting_until)

    def _free(self, credit: int) -> int:
        return max(0, super()._free(credit) - self.channel.asked_free)

    def _claim(self, credit: int, now: float, *, free: int) -> None:
        super()._claim(credit, now, free=free)
        self.asked = credit

    def _next_request(self, credit: int) -> ClaimRequest:
        request = super()._next_request(credit)
        command = self.channel.slots_command()
        self._asks_slots = command is not None
        return request if command is None else replace(request, commands=[command, *request.commands])

    def _take(self, replies: list[Any]) -> float:
        self.asked = 0
        if self._asks_slots and not isinstance(replies[0], Exception):
            self.channel.note_slots(replies[0])
        self._pause_after_error = 0.0
        return super()._take(replies)

    def _unsend(self) -> None:
        self.asked = 0
        super()._unsend()

    def _waiting_acks(self) -> int:
        return self.channel.waiting_acks()

    def _next_acks(self) -> list[Lease]:
        return self.book.next_done_of(self.lane, MAX_ACKNOWLEDGEMENTS)
