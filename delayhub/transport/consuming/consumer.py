"""Consuming: when a channel claims, what it does with the reply, and when it hands messages over.

A claim goes out when there is credit and the bell rang, the loop's timer reached the time to come back, or a second has
passed. The bell is an optimisation; the periodic claim is enough for correctness.
"""

from __future__ import annotations

import random
import time
from typing import Any
from uuid import uuid4

import redis
from kombu.log import get_logger
from redis.exceptions import ResponseError

from delayhub.engine import EngineOptions, Lease, TimerClaim, parse_claim, parse_timer_claim
from delayhub.engine.claim import MAX_ACKNOWLEDGEMENTS, Claim, Limits
from delayhub.transport.consuming.buffer import KEYED_ROOM, Buffer
from delayhub.transport.consuming.claim_request import ClaimRequest
from delayhub.transport.consuming.consumed_channel import ConsumedChannel
from delayhub.transport.consuming.last_claim import last_claim
from delayhub.transport.options import ANSWER_SECONDS, UNLIMITED_CLAIM
from delayhub.transport.redis_wire import RedisWire
from delayhub.transport.waking.alarm import Alarm
from delayhub.transport.waking.bell import Bell
from delayhub.transport.waking.nudge import Nudge

logger = get_logger(__name__)

#: Seconds between claims of a consumer when nothing else asks for one.
PERIOD = 1.0
#: Seconds that messages are handed over before the event loop gets its turn.
SLICE = 0.005
#: Seconds that acknowledgements wait for a claim to travel with before they travel by themselves.
ACK_DELAY = 0.010
#: So many acknowledgements wait no longer.
ACK_BATCH = 100
#: Seconds between claims for tasks with limits while a consumer has more to do than it can.
LIMITS_PAUSE = 0.010


class Consumer:
    """Claims for one channel. Runs in the thread of the channel's event loop, or of ``drain_events``.

    Args:
        channel: what it claims for.
        buffer: where claimed messages wait.
        options: the engine's.
        pool: where its connections come from.
        nudge: another's, which that one watches and closes; by default one of its own.
    """

    def __init__(
        self,
        channel: ConsumedChannel,
        *,
        buffer: Buffer,
        options: EngineOptions,
        pool: redis.ConnectionPool,
        nudge: Nudge | None = None,
    ) -> None:
        self.channel = channel
        self.buffer = buffer
        self.book = buffer.book
        self.options = options
        self.identity = uuid4().hex[:12]
        self.claims = RedisWire(pool)
        self.bell = Bell(pool, options.key_prefix)
        self.nudge = nudge or Nudge()
        self.alarm = Alarm(self.turn)
        self.request = ClaimRequest()
        self.sending: list[Lease] = []
        self.wanted = True
        self.more = False
        #: Seconds between claims when nothing else asks for one.
        self.period = PERIOD
        #: What the last claim found of limits, and how many free processes it had asked for.
        self.limits = Limits.NONE
        self.asked_free = 0
        self.next_claim_at = 0.0
        #: Until when no request goes out, after one that Redis refused: it would refuse the next one too.
        self.resting_until = 0.0
        self.acks_since: float | None = None
        self._first = 0
        self._closed = False
        if nudge is None:
            self.book.bells.add(self.nudge.give)

    # ------------------------------------------------------------ when to claim

    def take_turn(self) -> None:
        """Called at every turn of the loop; while nothing is consumed, acknowledgements travel all the same."""
        if self.channel.active_queues:
            self.turn()
        elif self.book.done and not self._closed and not self.claims.sent:
            now = time.monotonic()
            if now >= self.resting_until:
                self._claim(0, now, free=0)

    def turn(self) -> None:
        """Claims, where it is time and there is reason to."""
        if self._closed:
            return
        now = time.monotonic()
        # Without an event loop the caller may work for long between two polls, and its bell would ring for nothing.
        if now >= self.resting_until and (self.channel.hub is not None or self._has_found_nothing(now)):
            self._listen(now)
        if self.limits and self.buffer.has_next:
            self.nudge.give()
        if self.claims.sent or now < self.resting_until:
            return
        credit = self._credit()
        wanted = credit and (self.wanted or self._may_claim_more(credit) or now >= self.next_claim_at)
        if self.limits and not wanted:
            # Tasks with limits go to free processes, whatever the credit. This claim may only find that some wait.
            wanted = now >= self.next_claim_at or (self.limits is Limits.HELD and self._free(credit) > 0)
        if wanted or self._acks_are_due(now):
            self._claim(credit, now, free=self._free(credit))

    def on_bell(self) -> bool:
        """The bell's connection has something to read."""
        try:
            if self.bell.rang():
                self.wanted = True
                if not self._credit():
                    self._wake_another()
        except ResponseError as error:  # where Redis takes no writes, since its disk is full, say
            self._rest(error)
        self.turn()
        return False

    def on_nudge(self) -> bool:
        """Acknowledgements wait to be sent, or the buffer has messages; whether a message was handed over."""
        self.nudge.take()
        if self.limits is Limits.HELD:
            self.turn()  # asks for the process that is free, before another message takes it
        delivered = self.deliver()
        self.turn()
        return delivered

    def on_cancel(self) -> None:
        """A queue is not consumed any more: a consumer without queues stops listening."""
        if self.channel.active_queues:
            self.wanted = True  # to listen to fewer lanes, it forgets what it may have heard
        else:
            self._stop_listening()

    def on_process_free(self) -> None:
        """A message is done, also one that was acknowledged before; called by any thread."""
        if self.limits:
            self.nudge.give()

    def _rest(self, error: Exception) -> None:
        self.resting_until = time.monotonic() + PERIOD
        logger.error("Redis refused to wake this consumer, trying again in %s s: %s", PERIOD, error)

    def _credit(self) -> int:
        # Without an event loop and a prefetch count there may be one caller for one message (SimpleQueue).
        unlimited = UNLIMITED_CLAIM if self.channel.hub is not None else 1
        return self.channel.qos.credit(buffered=len(self.buffer), unlimited=unlimited)

    def _free(self, credit: int) -> int:
        """How many messages of tasks with limits a claim may bring: those that would start as soon as they are here."""
        if self.buffer and self.limits is not Limits.HELD:
            return 0  # what is in the buffer takes the free processes meanwhile
        free = self.buffer.hooks.free_processes()
        if free is None:
            return credit
        return 0 if self.book.isolates else max(0, free - self.buffer.urgent)

    @property
    def expects_urgent(self) -> bool:
        """Whether a claim is under way that may bring a message for a free process, which must be kept for it."""
        return self.limits is Limits.HELD and bool(self.claims.sent) and self.asked_free > 0 and not self.buffer.urgent

    def _may_claim_more(self, credit: int) -> bool:
        """Whether more is ready than this consumer has, and half of its credit and of its room is free."""
        if not self.more or credit < len(self.buffer):
            return False
        busy = self.channel.qos.unacknowledged + len(self.buffer)
        return credit >= max(1, (credit + busy) // 2) and self.buffer.has_keyed_room

    def _acks_are_due(self, now: float) -> bool:
        acks = self._waiting_acks()
        if not acks:
            return False
        if self.channel.hub is None or acks >= ACK_BATCH:
            return True
        if self.acks_since is None:
            self.acks_since = now
        due = self.acks_since + ACK_DELAY
        if now >= due:
            return True
        self.alarm.pull(due)
        return False

    def _listen(self, now: float) -> None:
        # A consumer that has work, or knows of more, needs no waking; each answered pop would cost a round trip.
        if self.more or self.buffer or self.limits is Limits.HELD:
            return
        lanes = self.channel.active_queues
        # Redis gives a ring to one consumer: to the one that has listened for longest, whether it can claim or not.
        if lanes and (self.bell.is_listening or self._credit()):
            self.bell.listen(lanes, at=now)
            self.channel.watch(self.bell.wire, "BELL")

    def _has_found_nothing(self, now: float) -> bool:
        return not self.wanted and now < self.next_claim_at

    def _stop_listening(self) -> None:
        if self.bell.end():
            self._wake_another()

    def _wake_another(self) -> None:
        try:
            self.book.queue(self.bell.rung, self.bell.rung).wake()
        except (redis.RedisError, OSError) as error:
            logger.debug("another consumer is not woken, and claims within a second: %s", error)

    # ------------------------------------------------------------ claiming

    def _claim(self, credit: int, now: float, *, free: int) -> None:
        self._unsend()
        self.asked_free = free
        self.claims.connect()
        self.channel.watch(self.claims, "CLAIM")
        self.channel.watch_nudges(self.nudge)
        self.wanted = False
        self.acks_since = None
        self.next_claim_at = now + self.period
        self.sending = self._next_acks()
        self.request = self._next_request(credit)
        try:
            self.claims.send(self.request.commands, at=now)
        except Exception:
            self._unsend()
            raise

    def _waiting_acks(self) -> int:
        return len(self.book.done)

    def _next_acks(self) -> list[Lease]:
        return self.book.next_done(MAX_ACKNOWLEDGEMENTS)

    def _next_request(self, credit: int) -> ClaimRequest:
        queues = self.channel.active_queues
        if queues:
            # Each queue is the first one in turn: the first queues of a claim get their share before the last.
            self._first = (self._first + 1) % len(queues)
            queues = queues[self._first :] + queues[: self._first]
        return ClaimRequest.of(
            queues,
            credit=credit,
            acknowledged=self.sending,
            no_ack=self.channel.no_ack_queues,
            timer_queues=self.buffer.timer_queues,
            keyed_limit=self.buffer.keyed_room,
            key_limit=KEYED_ROOM,
            consumer=self.identity,
            options=self.options,
            free=self.asked_free,
        )

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
            self.book.done.extendleft(reversed(sent))
            self.resting_until = self.claims.sent_at + PERIOD
            logger.error("Redis refused a claim, trying again in %s s: %s", PERIOD, refused[0])
        # Set now, when the reply is read: the loop computes how long it sleeps before its next tick callbacks.
        self._sleep(self._take(replies))
        delivered = self.deliver()
        if self.channel.hub is not None:
            # Without a loop the caller may want only this message (SimpleQueue).
            self.turn()
        return delivered

    def _take(self, replies: list[Any]) -> float:
        """Takes in what the replies bring; gives back the seconds until the next claim makes sense."""
        messages, timers = self.request.replies(replies)
        pauses = [self.period]
        if messages is not None and not isinstance(messages, ResponseError):
            pauses.append(self._take_messages(parse_claim(messages)))
        pauses += [
            self._take_timers(lane, parse_timer_claim(reply))
            for lane, reply in timers
            if not isinstance(reply, ResponseError)
        ]
        return min(pauses)

    def _take_messages(self, claim: Claim) -> float:
        for given in claim.queues:
            self.buffer.add_entries(self.request.queues[given.position], given.entries)
        self.more, self.limits = claim.more, claim.limits
        if claim.limits:
            self.buffer.limiting.add(self.identity)
        else:
            self.buffer.limiting.discard(self.identity)
        if claim.more and claim.reopens_ms is not None:
            return max(LIMITS_PAUSE, claim.reopens_ms / 1000 - claim.now_us / 1e6)
        return self._pause(claim)

    def _take_timers(self, lane: str, claim: TimerClaim) -> float:
        last_claim.note()
        self.buffer.add_timers(lane, claim)
        self.more = self.more or claim.more
        return self._pause(claim)

    def _pause(self, claim: Claim | TimerClaim) -> float:
        if claim.come_back_ms is None or claim.more:
            return self.period
        pause = max(0.0, claim.come_back_ms / 1000 - claim.now_us / 1e6)
        # One consumer holds the alarm; the others come a little later, in case it is gone.
        return pause if claim.holds_alarm else pause + random.uniform(0.010, 0.030)  # noqa: S311  spreads load

    def _sleep(self, seconds: float) -> None:
        self.next_claim_at = max(self.claims.sent_at + seconds, self.resting_until)
        if self.channel.hub is not None:
            self.alarm.attach(self.channel.hub)
            self.alarm.set(self.next_claim_at)

    # ------------------------------------------------------------ handing over

    def deliver(self) -> bool:
        """Hands messages over for a slice of time (without a loop: one); whether there were any."""
        if self._closed:
            return False
        if self.expects_urgent:
            return False
        delivered = self.buffer.hand_over(seconds=SLICE if self.channel.hub is not None else 0.0)
        if self.buffer.has_next:
            self.nudge.give()
        return delivered

    # ------------------------------------------------------------ ending

    def require_replies(self) -> None:
        """Drops a connection on which a reply is long overdue. Raises ConnectionError where one was."""
        try:
            self.claims.require_reply(within=ANSWER_SECONDS)
        except ConnectionError:
            self.book.distrust_connections()
            raise
        self.bell.wire.require_reply(within=2 * self.bell.seconds)

    def close(self) -> None:
        """Gives back everything that was not handed over, also what a claim under way still brings."""
        if self._closed:
            return
        self.book.bells.discard(self.nudge.give)
        self._end_claims()
        self.buffer.clear()
        self.nudge.close()

    def _end_claims(self) -> None:
        """Claims no more; what a claim under way still brings is in the buffer."""
        self._closed = True
        self.alarm.close()
        try:
            if self.claims.sent and self.claims.socket is not None:
                self.claims.socket.settimeout(1.0)
                self._read_last()
        except Exception as error:
            logger.warning("the last claim's reply was lost, its leases will run out: %s", error)
        self.buffer.limiting.discard(self.identity)  # after the last reply, which may have found limits
        self._unsend()
        self.claims.close()
        self._stop_listening()

    def _read_last(self) -> None:
        replies = self.claims.receive()
        self.sending, sent = [], self.sending
        if any(isinstance(reply, Exception) for reply in replies):
            self.book.done.extendleft(reversed(sent))
        else:
            self._take(replies)

    def _unsend(self) -> None:
        """Puts acknowledgements back whose claim got no reply; sent a second time they do no harm."""
        self.book.done.extendleft(reversed(self.sending))
        self.sending = []
