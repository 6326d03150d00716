"""What a channel knows of the slots of its queues, on a Redis Cluster."""

from __future__ import annotations

import time
from collections.abc import Callable

import redis
from kombu.log import get_logger

from delayhub.engine.queue_slots import FRESH_SECONDS, QueueSlots, ask_slots

logger = get_logger(__name__)

#: Seconds for which the last answer counts where a queue's node gives none.
AFTER_ERROR_SECONDS = 30.0


class SlotTable:
    """The slots of queues. A number that is known late does no harm: consumers ask every slot that there ever was.

    Args:
        connect: gives a client that does not wait for long.
        prefix: of the keys.
    """

    def __init__(self, connect: Callable[[], redis.Redis], *, prefix: str) -> None:
        self._connect = connect
        self._prefix = prefix
        self._known: dict[str, QueueSlots] = {}
        self._fresh_until: dict[str, float] = {}

    def slots(self, queue: str) -> QueueSlots:
        """The slots of a queue; asked for where what is known is older than five seconds."""
        known = self._known.get(queue, QueueSlots())
        now = time.monotonic()
        if now < self._fresh_until.get(queue, 0.0):
            return known
        try:
            known = ask_slots(self._connect(), queue, known, prefix=self._prefix)
        except (redis.RedisError, OSError) as error:
            logger.info("cannot ask how many slots %s has now: %s", queue, error)
            self._fresh_until[queue] = now + AFTER_ERROR_SECONDS
            return known
        self.note(queue, known)
        return known

    def propose(self, queue: str, number: int) -> QueueSlots:
        """The slots of a queue, which are so many where it had none. Raises what Redis raises."""
        return self._kept(queue, proposed=number)

    def set(self, queue: str, number: int) -> QueueSlots:
        """The slots of a queue, which are so many from now on. Raises what Redis raises."""
        return self._kept(queue, number=number)

    def note(self, queue: str, slots: QueueSlots) -> None:
        """Keeps what Redis said of a queue."""
        if len(self._known) > 1000:  # each client has a reply queue of its own
            self._known.clear()
            self._fresh_until.clear()
        self._known[queue] = slots
        self._fresh_until[queue] = time.monotonic() + FRESH_SECONDS

    def forget(self, queue: str) -> None:
        """The queue was deleted."""
        self._known.pop(queue, None)
        self._fresh_until.pop(queue, None)

    def _kept(self, queue: str, *, number: int = 0, proposed: int = 0) -> QueueSlots:
        known = self._known.get(queue, QueueSlots())
        found = ask_slots(self._connect(), queue, known, prefix=self._prefix, number=number, proposed=proposed)
        self.note(queue, found)
        return found
