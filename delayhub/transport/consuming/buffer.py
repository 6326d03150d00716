"""What a channel has claimed and not yet handed over: messages and batches of timers, in their order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import dropwhile, takewhile
from typing import NamedTuple

from kombu.log import get_logger

from delayhub.engine import Claimed, Entry, Lease, TimerClaim
from delayhub.engine.lane_tag import queue_of_lane
from delayhub.transport.consuming.entry_reader import EntryReader
from delayhub.transport.consuming.lease_book import LeaseBook
from delayhub.transport.envelope import Message
from delayhub.transport.hooks import Hooks
from delayhub.transport.timer_queue import TimerQueue, timer_message

logger = get_logger(__name__)

#: From so many lost leases on, the scripts give a message out as the only one of a claim, and it runs as the only one.
SUSPECT_STRIKES = 2

#: Timers of one flow key in a claim, and of queues with flow keys that a process has claimed and not handed to its
#: dispatcher yet, at most: one message. What comes later of another key waits for these: ten jobs of a small key took
#: 59 ms at the median, 148 with two messages (decision 58). Messages of 25 cost a third more of the worker's CPU time
#: for each callback.
KEYED_ROOM = 50
#: So many of those queues, where the last claim brought many flow keys: two messages of 100. There no key makes others
#: wait (decision 64).
MANY_KEYS_ROOM = 200
#: Timers that each flow key of a claim may have on average, so that it counts as one of many keys.
FEW_OF_A_KEY = 2


class Delivery(NamedTuple):
    """One message to come: an entry of the queue, or timers of the lane of that name."""

    queue: str
    entry: Claimed | None
    timers: Message | None = None
    timer_leases: tuple[Lease, ...] = ()
    #: The lane of an entry: the queue's, or that of one of its slots.
    lane: str = ""

    @property
    def leases(self) -> tuple[Lease, ...]:
        """What is acknowledged with the message; empty where its claim has deleted it."""
        if self.entry is None:
            return self.timer_leases
        return (Lease(self.lane, self.queue, self.entry.id, self.entry.token),) if self.entry.token else ()


def _is_limited(delivery: Delivery) -> bool:
    return delivery.entry is not None and delivery.entry.limited


class Buffer:
    """Deliveries of one channel. They count as credit that is taken, and are the first to go back.

    Args:
        book: the process' leases on the channel's broker.
        reader: makes messages of entries.
        receivers: what takes the messages of each queue that is consumed.
        timer_queues: the queues that are timer lanes.
        hooks: gets the report of a revoked message.
    """

    def __init__(
        self,
        book: LeaseBook,
        *,
        reader: EntryReader,
        receivers: Mapping[str, Callable[[Message], object]],
        timer_queues: Mapping[str, TimerQueue],
        hooks: Hooks,
    ) -> None:
        self.book = book
        self.reader = reader
        self.receivers = receivers
        self.timer_queues = timer_queues
        self.hooks = hooks
        self.deliveries: deque[Delivery] = deque()
        #: The consumers that found limits of tasks in their queues. Then messages wait here until a process is free.
        self.limiting: set[str] = set()
        #: Timer queues that flow keys share, as the last claims say, with their lanes; and the room that each gives.
        self.keyed_queues: dict[tuple[str, str], int] = {}
        book.buffers.add(self)

    def __len__(self) -> int:
        return len(self.deliveries)

    def leases(self) -> list[Lease]:
        """The leases of all that is here. The keeper's thread asks too, so this walks over a copy."""
        return [lease for delivery in self.deliveries.copy() for lease in delivery.leases]

    @property
    def keyed_room(self) -> int:
        """How many more timers of queues with flow keys may be claimed now."""
        if not self.keyed_queues:
            return KEYED_ROOM
        held = self.leases() + list(self.book.held)
        under_way = sum((lease.lane, lease.queue) in self.keyed_queues for lease in held)
        return max(0, self._whole_keyed_room - under_way)

    @property
    def has_keyed_room(self) -> bool:
        """Whether half of the room for timers of queues with flow keys is free."""
        return self.keyed_room >= self._whole_keyed_room // 2

    @property
    def _whole_keyed_room(self) -> int:
        # Where one of the queues has a busy key, it is that key which the others would wait for.
        return min(self.keyed_queues.values(), default=KEYED_ROOM)

    # ------------------------------------------------------------ in

    def add_entries(self, lane: str, entries: Sequence[Claimed]) -> None:
        """Takes in what a claim returned of a queue. A suspect comes as the only one and gets the process to itself."""
        queue = queue_of_lane(lane)
        taken = [Delivery(queue, entry, None, (), lane) for entry in entries]
        urgent = [delivery for delivery, entry in zip(taken, entries, strict=True) if entry.limited]
        if urgent:
            # Their tasks have limits: they start before anything else that is here, or the limits would say nothing.
            others = [delivery for delivery, entry in zip(taken, entries, strict=True) if not entry.limited]
            self.deliveries = deque([*self._urgent(), *urgent, *self._others(), *others])
        else:
            self.deliveries.extend(taken)
        if len(taken) == 1 and taken[0].leases and entries[0].strikes >= SUSPECT_STRIKES:
            self.book.isolate(taken[0].leases[0])

    def add_timers(self, lane: str, claim: TimerClaim) -> None:
        """Takes in what a claim returned of a timer lane, as messages for the lane's task."""
        declared = self.timer_queues[lane]
        if claim.ungated:
            # Before anything else: nothing of these queues is claimed until their limits are known.
            message = timer_message(declared.task, [], lane=lane, now_ms=claim.now_ms, ungated=claim.ungated)
            self.deliveries.appendleft(Delivery(lane, None, message))
        sound: list[Lease] = []
        keyed: list[Lease] = []
        keyed_most = declared.batch
        for batch in claim.batches:
            place = (lane, batch.queue)
            if batch.keys:
                is_of_many = len(batch.ids) <= FEW_OF_A_KEY * batch.keys and batch.keys >= KEYED_ROOM // 2
                self.keyed_queues[place] = MANY_KEYS_ROOM if is_of_many else KEYED_ROOM
                keyed_most = min(keyed_most, declared.batch if is_of_many else KEYED_ROOM)
            else:
                self.keyed_queues.pop(place, None)
            group = keyed if batch.keys else sound
            for found in batch.ids:
                lease = Lease(lane, batch.queue, found, batch.token)
                if found in batch.strikes:
                    # A message of its own, so that one poison job cannot take its neighbours along.
                    self._add_batch(declared.task, lane, [lease], claim.now_ms, struck=True)
                else:
                    group.append(lease)
        for group, most in ((sound, declared.batch), (keyed, keyed_most)):
            for start in range(0, len(group), most):
                self._add_batch(declared.task, lane, group[start : start + most], claim.now_ms, struck=False)

    def _add_batch(self, task: str, lane: str, leases: Sequence[Lease], now_ms: int, *, struck: bool) -> None:
        message = timer_message(task, [lease.id for lease in leases], lane=lane, now_ms=now_ms, struck=struck)
        self.deliveries.append(Delivery(lane, None, message, tuple(leases)))

    # ------------------------------------------------------------ out

    @property
    def has_next(self) -> bool:
        """Whether there is a message to hand over now."""
        return bool(self.deliveries) and (not self.limiting or self.may_start())

    def may_start(self) -> bool:
        """Whether one more message would start at once, as far as the program knows that."""
        free = self.hooks.free_processes()
        return free is None or free > 0

    @property
    def urgent(self) -> int:
        """How many of the messages here are of tasks with a limit; they are the first."""
        return len(self._urgent())

    def _urgent(self) -> list[Delivery]:
        return list(takewhile(_is_limited, self.deliveries))

    def _others(self) -> list[Delivery]:
        return list(dropwhile(_is_limited, self.deliveries))

    def hand_over(self, *, seconds: float) -> bool:
        """Hands messages over for so long, but at least one; whether there were any.

        Where tasks have limits it hands over what would start at once; what waits here, such a task can go before.
        """
        until = time.monotonic() + seconds
        handed_over = False
        while self.has_next:
            delivery = self.deliveries.popleft()
            receive = self.receivers.get(delivery.queue)
            if receive is None:
                self._give_back([delivery])
                continue
            lost = self.book.lost
            if lost and not lost.isdisjoint(delivery.leases):
                continue  # another consumer has it by now
            message = self._message(delivery)
            if message is not None:
                receive(message)
                handed_over = True
                if time.monotonic() >= until:
                    break
        return handed_over

    def drop(self, queue: str) -> None:
        """Gives back what there is of a queue."""
        dropped = [delivery for delivery in self.deliveries if delivery.queue == queue]
        if dropped:
            self.deliveries = deque(delivery for delivery in self.deliveries if delivery.queue != queue)
            self._give_back(dropped)

    def clear(self) -> None:
        """Gives everything back."""
        deliveries = list(self.deliveries)
        self.deliveries.clear()
        self._give_back(deliveries)

    def _message(self, delivery: Delivery) -> Message | None:
        """The message, leased under its delivery tag; None where it is dead."""
        leases, entry, message = delivery.leases, delivery.entry, delivery.timers
        if entry is not None:
            message = self.reader.read(delivery.queue, entry, leases)
            if message is None:
                return None
            if entry.revoked and isinstance(task_id := message["headers"].get("id"), str):
                self.hooks.on_revoked(task_id)
        assert message is not None
        if leases:
            tag = self.book.take(leases, timers=entry is None, counted=entry is not None and entry.counted)
        else:
            tag = f"no-ack-{id(delivery)}"
        message["properties"]["delivery_tag"] = tag
        return message

    def _give_back(self, deliveries: Sequence[Delivery]) -> None:
        messages = [lease for delivery in deliveries if delivery.entry is not None for lease in delivery.leases]
        timers = [lease for delivery in deliveries if delivery.entry is None for lease in delivery.leases]
        self.book.timers.update(timers)
        try:
            for delivery in deliveries:
                if delivery.entry is not None and not delivery.leases:
                    # What was claimed without a lease is not in Redis any more: it goes to the end of its line.
                    entry = Entry(delivery.entry.id, payload=delivery.entry.payload)
                    self.book.queue(delivery.lane, delivery.queue).schedule([entry])
            self.book.give_back(messages + timers, delivered=False)
        except Exception as error:
            logger.warning("could not give back %d claimed messages: %s", len(deliveries), error)
