"""A channel's unacknowledged messages, and its credit for more."""

from __future__ import annotations

from typing import Protocol

import redis
from kombu.log import get_logger
from kombu.transport import virtual

from delayhub.transport.consuming.lease_book import LeaseBook
from delayhub.transport.hooks import Hooks

logger = get_logger(__name__)


class LeasingChannel(Protocol):
    """What :class:`LeaseQoS` needs of its channel."""

    @property
    def book(self) -> LeaseBook:
        """The process' leases on the channel's broker."""

    @property
    def hooks(self) -> Hooks:
        """Questions to the program that runs the messages."""


class LeaseQoS(virtual.QoS):
    """A channel's unacknowledged messages; their leases are in the process' book."""

    channel: LeasingChannel

    def credit(self, *, buffered: int, unlimited: int) -> int:
        """How many more messages the channel may claim now.

        Args:
            buffered: messages that it has claimed and not handed over yet.
            unlimited: what a prefetch count of 0, which is no limit, stands for.
        """
        if self.channel.book.isolates:
            return 0  # a message that may take the process down must not take others along
        if "can_consume" in self.__dict__:
            # It was replaced (by worker_disable_prefetch), and decides message by message.
            return 1 if not buffered and self.can_consume() else 0
        if not self.prefetch_count:
            return max(0, unlimited - buffered)
        return max(0, int(self.can_consume_max_estimate()) - buffered)

    @property
    def unacknowledged(self) -> int:
        """How many messages were delivered and are not done."""
        return len(self._delivered) - len(self._dirty)

    def ack(self, delivery_tag: str) -> None:
        """The message is done."""
        book = self.channel.book
        if delivery_tag not in book.started:
            book.acknowledge(delivery_tag)
        super().ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """The message goes back to its place in line, or is dropped; a batch of timers is never dropped."""
        book = self.channel.book
        lost_process = delivery_tag in book.lost_process
        book.lost_process.discard(delivery_tag)
        if requeue and not lost_process:
            book.release([delivery_tag])
        elif not book.abandon(delivery_tag):
            if requeue:
                book.strike(delivery_tag)
            else:
                book.acknowledge(delivery_tag)
        super().ack(delivery_tag)

    def restore_unacked(self) -> list[object]:
        """Gives back all messages that are not being worked on, in one call and in their order."""
        self._flush()
        running = self.channel.hooks.running_tags()
        waiting = [tag for tag in self._delivered if tag not in running]
        try:
            self.channel.book.release(waiting)
        except (redis.RedisError, OSError) as error:
            # Nothing is lost: the leases run out and the messages come back by themselves.
            logger.warning("could not give back %d messages, their leases will run out: %s", len(waiting), error)
        self._delivered.clear()
        return []
