"""Turns claimed entries into messages, and puts those with the dead that must not be delivered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kombu.log import get_logger

from delayhub.engine import Claimed, Lease
from delayhub.transport.consuming.lease_book import LeaseBook
from delayhub.transport.envelope import Later, Message, Unreadable, from_payload
from delayhub.transport.hooks import Hooks

logger = get_logger(__name__)

#: How long a message of a later release waits for a worker of that release.
LATER_SECONDS = 60


class EntryReader:
    """Reads what a channel claims.

    Args:
        book: the process' leases on the channel's broker.
        hooks: gets the report of a message that no process survives.
        max_strikes: leases that may run out before a message is dead.
        make_message: makes kombu's message of a raw one, for that report.
    """

    def __init__(
        self, book: LeaseBook, *, hooks: Hooks, max_strikes: int, make_message: Callable[[Message], Any]
    ) -> None:
        self.book = book
        self.hooks = hooks
        self.max_strikes = max_strikes
        self.make_message = make_message

    def read(self, queue: str, entry: Claimed, leases: Sequence[Lease]) -> Message | None:
        """The message that was claimed.

        None where it is dead now (it is unreadable, or no process survives it), or waits for a worker of a later
        release.
        """
        try:
            message = from_payload(entry.payload, redelivered=entry.redelivered)
        except Later as error:
            self._leave_to_others(queue, leases, why=str(error))
            return None
        except Unreadable as error:
            self.bury(queue, leases, reason=f"unreadable: {error}")
            return None
        if not leases or entry.revoked or entry.strikes < self.max_strikes:
            return message
        # Report the failure before burying the message: if this process dies in between, the message is claimed and
        # reported again.
        reason = f"lost its process or its lease {entry.strikes} times"
        self._report_dead(message, reason)
        self.bury(queue, leases, reason=reason)
        return None

    def bury(self, queue: str, leases: Sequence[Lease], *, reason: str) -> None:
        """Puts what was claimed with the dead; the consumer lives on."""
        logger.error("a message on %s is dead: %s", queue, reason, extra={"action": "bury", "queue": queue})
        self.book.bury(list(leases), reason=reason[:500])

    def bury_delivered(self, tag: str, *, reason: str) -> None:
        """The same for what was delivered under a tag; where its lease was lost, it is another consumer's to bury."""
        if leases := self.book.tags.pop(tag, ()):
            self.bury(leases[0].queue, leases, reason=reason)

    def _leave_to_others(self, queue: str, leases: Sequence[Lease], *, why: str) -> None:
        logger.error(
            "this worker cannot read a message on %s: %s. It comes again in %d s; update this worker",
            queue,
            why,
            LATER_SECONDS,
            extra={"action": "leave", "queue": queue},
        )
        self.book.give_back(list(leases), delivered=False, delay_ms=LATER_SECONDS * 1000)

    def _report_dead(self, message: Message, reason: str) -> None:
        message["properties"]["delivery_tag"] = "dead"
        try:
            self.hooks.on_dead(self.make_message(message), reason)
        except Exception:
            logger.exception("could not report that a message is dead")
