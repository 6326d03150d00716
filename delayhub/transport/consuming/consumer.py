"""Consuming: when a channel claims, what it does with the reply, and when it hands messages over.

A claim goes out when there is credit and the bell rang, the loop's timer reached the time to come back, or a second has
passed. The bell is an optimisation; the periodic claim is enough for correctness.
"""

from __future__ import annotations

import random
import time
from typing import Any
from uuid import uuid4

from kombu.log import get_logger
from redis.exceptions import ResponseError

from delayhub.engine import (
    ClaimedQueue,
    Lease,
    TimerClaim,
    claim_command,
    parse_claim,
    parse_timer_claim,
    timer_claim_command,
)
from delayhub.engine.claim import MAX_ACKNOWLEDGEMENTS, Claim
from delayhub.engine.scripts import script
from delayhub.transport.consuming.buffer import Buffer
from delayhub.transport.options import UNLIMITED_CLAIM
from delayhub.transport.redis_wire import Command, RedisWire
from delayhub.transport.waking.alarm import Alarm
from delayhub.transport.waking.bell import Bell
from delayhub.transport.waking.nudge import Nudge

logger = get_logger(__name__)

#: Seconds between claims when nothing else asks for one.
PERIOD = 1.0
#: Seconds that messages are handed over before the event loop gets its turn.
SLICE = 0.005
#: Seconds that acknowledgements wait for a claim to travel with before they travel by themselves.
ACK_DELAY = 0.010
#: Acknowledgements that don't wait any longer.
ACK_BATCH = 100


class Consumer:
    """Claims for one channel. Runs in the thread of the channel's event loop, or of ``drain_events``."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel
        self.options = channel.options.engine()
        self.identity = uuid4().hex[:12]
        pool = channel.async_pool
        self.claims = RedisWire(pool)
        self.bell = Bell(pool, self.options.key_prefix)
        self.buffer = Buffer(channel)
        self.nudge = Nudge()
        self.alarm = Alarm(self.turn)
        self.sending: list[Lease] = []
        self.wanted = True
        self.more = False
        self.next_claim_at = 0.0
        self.acks_since: float | None = None
        self.asked: list[str] = []
        self._plain = 0
        self._lanes: list[str] = []
        self._turn = 0
        self._closed = False
        channel.book.bells.add(self.nudge.give)

    # ------------------------------------------------------------ when to claim

    def credit(self) -> int:
        """How many messages more the channel may be given now."""
        qos = self.channel.qos
        if self.channel.book.isolates:
            return 0  # a message that may take the process down must not take others along
        if "can_consume" in qos.__dict__:
            # Somebody (worker_disable_prefetch) decides message by message.
            return 1 if not self.buffer and qos.can_consume() else 0
        if not qos.prefetch_count:
            # Without an event loop and a prefetch there may be one caller for one message (SimpleQueue).
            limit = UNLIMITED_CLAIM if self.channel.poller.hub is not None else 1
            return max(0, limit - len(self.buffer))
        return max(0, int(qos.can_consume_max_estimate()) - len(self.buffer))

    def turn(self) -> None:
        """Called at every turn of the loop: claims, where it is time and there is reason to."""
        if self._closed:
            return
        now = time.monotonic()
        self._listen(now)
        if self.claims.sent:
            return
        credit = self.credit()
        wanted = credit and (self.wanted or self._is_hungry(credit) or now >= self.next_claim_at)
        if wanted or self._acks_are_due(now):
            self._claim(credit, now)

    def idle(self) -> None:
        """Called at every turn while nothing is consumed: acknowledgements travel all the same."""
        if self.channel.book.done and not self._closed and not self.claims.sent:
            self._claim(0, time.monotonic())

    def on_bell(self) -> bool:
        """The bell's connection has something to read."""
        if self.bell.rang():
            self.wanted = True
        self.turn()
        return False

    def on_nudge(self) -> bool:
        """Somebody nudged: acknowledgements wait, or the buffer does."""
        self.nudge.take()
        delivered = self.deliver()
        self.turn()
        return delivered

    def _is_hungry(self, credit: int) -> bool:
        """Whether more is ready than this consumer has, and half of what it may have is used up."""
        if not self.more or credit < len(self.buffer):
            return False
        qos = self.channel.qos
        busy = len(qos._delivered) - len(qos._dirty) + len(self.buffer)
        return credit >= max(1, (credit + busy) // 2)

    def _acks_are_due(self, now: float) -> bool:
        acks = len(self.channel.book.done)
        if not acks:
            return False
        if self.channel.poller.hub is None or acks >= ACK_BATCH:
            return True
        if self.acks_since is None:
            self.acks_since = now
        due = self.acks_since + ACK_DELAY
        if now >= due:
            return True
        self.alarm.pull(due)
        return False

    def _listen(self, now: float) -> None:
        # Who has work at hand, or knows of more, needs no waking; each answered pop would cost a round trip.
        if self.more or self.buffer:
            return
        lanes = self.channel.active_queues
        if lanes:
            self.bell.listen(lanes, at=now)
            self.channel.poller.watch(self.channel, self.bell.wire, "BELL")

    # ------------------------------------------------------------ claiming

    def _claim(self, credit: int, now: float) -> None:
        self._unsend()
        self.claims.connect()
        self.channel.poller.watch(self.channel, self.claims, "CLAIM")
        self.channel.poller.watch_nudges(self.channel, self.nudge)
        self.wanted = False
        self.acks_since = None
        self.next_claim_at = now + PERIOD
        commands = self._commands(credit)
        try:
            self.claims.send(commands, at=now)
        except Exception:
            self._unsend()
            raise

    def _commands(self, credit: int) -> list[Command]:
        self.sending = self.channel.book.next_done(MAX_ACKNOWLEDGEMENTS)
        queues = self.channel.active_queues
        if queues:
            self._turn = (self._turn + 1) % len(queues)
            queues = queues[self._turn :] + queues[: self._turn]
        mine: dict[str, list[tuple[str, int]]] = {queue: [] for queue in queues}
        others: dict[tuple[str, str], list[Any]] = {}
        for lease in self.sending:
            if lease.lane == lease.queue and lease.queue in mine:
                mine[lease.queue].append((lease.id, lease.token))
            else:
                others.setdefault((lease.lane, lease.queue), []).extend((lease.id, lease.token))
        claimed = [ClaimedQueue(name, name, name in self.channel.no_ack_queues, acks) for name, acks in mine.items()]
        commands: list[Command] = []
        for (lane, queue), acks in others.items():
            verb = script("acknowledge")
            commands.append((verb, verb.command([self.channel.keys(lane, queue).base], acks)))
        self.asked = queues
        self._plain = len(commands)
        command = claim_command(claimed, limit=credit, consumer=self.identity, options=self.options)
        commands.append((script("claim"), command))
        self._lanes = [queue for queue in queues if queue in self.channel.timer_queues] if credit else []
        for lane in self._lanes:
            batch = self.channel.timer_queues[lane].batch
            command = timer_claim_command(lane, limit=credit * batch, consumer=self.identity, options=self.options)
            commands.append((script("claim_timers"), command))
        return commands

    def on_claim(self) -> bool:
        """The claim's reply is there; whether a message was handed over."""
        try:
            replies = self.claims.receive()
        except Exception:
            self._unsend()
            raise
        if not replies:  # readable without a claim under way: the connection was looked at, and lives
            return False
        self.sending, sent = [], self.sending
        refused = [reply for reply in replies if isinstance(reply, ResponseError)]
        if refused:
            self.channel.book.done.extendleft(reversed(sent))
            logger.error("Redis refused a claim, trying again in %s s: %s", PERIOD, refused[0])
        come_back = [
            self._take_messages(parse_claim(replies[self._plain]))
            if not isinstance(replies[self._plain], ResponseError)
            else PERIOD
        ]
        for lane, reply in zip(self._lanes, replies[self._plain + 1 :], strict=True):
            come_back.append(
                PERIOD if isinstance(reply, ResponseError) else self._take_timers(lane, parse_timer_claim(reply))
            )
        # Set now, when the reply is read: the loop computes how long it sleeps before its next tick callbacks.
        self._sleep(min([PERIOD, *come_back]))
        delivered = self.deliver()
        if self.channel.poller.hub is not None:
            # Without a loop the caller may want this one message only (SimpleQueue).
            self.turn()
        return delivered

    def _take_messages(self, claim: Claim) -> float:
        for given in claim.queues:
            self.buffer.add_entries(self.asked[given.position], given.entries)
        self.more = claim.more
        return self._pause(claim)

    def _take_timers(self, lane: str, claim: TimerClaim) -> float:
        self.buffer.add_timers(lane, claim)
        self.more = self.more or claim.more
        return self._pause(claim)

    def _pause(self, claim: Claim | TimerClaim) -> float:
        """Seconds until the next claim makes sense."""
        if claim.come_back_ms is None or claim.more:
            return PERIOD
        pause = max(0.0, claim.come_back_ms / 1000 - claim.now_us / 1e6)
        # One consumer holds the alarm; the others come a little later, in case it is gone.
        return pause if claim.holds_alarm else pause + random.uniform(0.010, 0.030)  # noqa: S311  spreads load

    def _sleep(self, seconds: float) -> None:
        self.next_claim_at = self.claims.sent_at + seconds
        if self.channel.poller.hub is not None:
            self.alarm.attach(self.channel.poller.hub)
            self.alarm.set(self.next_claim_at)

    # ------------------------------------------------------------ handing over

    def deliver(self) -> bool:
        """Hands messages over for a slice of time (without a loop: one); whether it was any."""
        if self._closed:
            return False
        delivered = self.buffer.hand_over(seconds=SLICE if self.channel.poller.hub is not None else 0.0)
        if self.buffer:
            self.nudge.give()
        return delivered

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """Gives back everything that was not handed over, also what a claim under way still brings."""
        if self._closed:
            return
        self._closed = True
        self.channel.book.bells.discard(self.nudge.give)
        self.alarm.close()
        try:
            if self.claims.sent and self.claims.socket is not None:
                self.claims.socket.settimeout(2.0)
                self._read_last()
        except Exception as error:
            logger.warning("the last claim's reply was lost, its leases will run out: %s", error)
        self._unsend()
        self.buffer.clear()
        self.claims.close()
        self.bell.wire.close()
        self.nudge.close()

    def _read_last(self) -> None:
        replies = self.claims.receive()
        self.sending, sent = [], self.sending
        if any(isinstance(reply, Exception) for reply in replies):
            self.channel.book.done.extendleft(reversed(sent))
            return
        self._take_messages(parse_claim(replies[self._plain]))
        for lane, reply in zip(self._lanes, replies[self._plain + 1 :], strict=True):
            self._take_timers(lane, parse_timer_claim(reply))

    def _unsend(self) -> None:
        """Acknowledgements whose claim got no reply are sent again; a second time does no harm."""
        self.channel.book.done.extendleft(reversed(self.sending))
        self.sending = []
