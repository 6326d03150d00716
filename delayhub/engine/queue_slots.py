"""The slots of a queue on a Redis Cluster: into how many parts it is cut, each of which may be on another node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import redis

from delayhub.engine.entry import text
from delayhub.engine.keys import LaneKeys
from delayhub.engine.lane_tag import MAX_SLOTS, slot_of
from delayhub.engine.scripts import script
from delayhub.errors import OptionError

#: The queue argument that proposes a number of slots, for a queue that has none yet.
SLOTS_ARGUMENT = "x-delayhub-slots"

#: Seconds for which a publisher or a consumer takes the number that it knows for granted.
FRESH_SECONDS = 5.0


class QueueSlots(NamedTuple):
    """How many slots a queue has.

    Args:
        number: the slots that messages are published to.
        places: the most slots that there ever were. Consumers ask them all, so the number may change at any time, and
            a publisher may know it late.
        limited: tasks with a limit, as the keys have them: each has all its messages in one slot.
    """

    number: int = 1
    places: int = 1
    limited: frozenset[str] = frozenset()

    def slot(self, entry_id: str, task: str | None, flow_key: str | None = None) -> int:
        """The slot of a message; copies of an id are with it, and all messages of a flow key are in one."""
        shared = self.shared_slot(task, flow_key)
        return slot_of(entry_id, self.number) if shared is None else shared

    def shared_slot(self, task: str | None, flow_key: str | None = None) -> int | None:
        """The one slot of all messages of a task with a limit, or of a flow key; None where any slot will do."""
        if self.number == 1:
            return 0
        if task is not None and task in self.limited:
            return slot_of(task, self.number)
        return slot_of(flow_key, self.number) if flow_key else None


def checked_number(number: Any) -> int:
    """A number of slots. Raises OptionError where it is no power of two up to 64."""
    if type(number) is not int or not 0 < number <= MAX_SLOTS or number & (number - 1):
        raise OptionError(f"a queue has 1, 2, 4, 8, 16, 32 or {MAX_SLOTS} slots, got {number!r}")
    return number


def declared_number(arguments: Mapping[str, Any]) -> int | None:
    """The number of slots that queue arguments propose; None where they propose none. Raises OptionError."""
    return checked_number(arguments[SLOTS_ARGUMENT]) if SLOTS_ARGUMENT in arguments else None


def slots_command(queue: str, known: QueueSlots, *, prefix: str) -> tuple[Any, ...]:
    """The command that answers with a queue's slots, for callers that send and read by themselves."""
    keys = [LaneKeys(queue, prefix).base]
    return script("queue_slots").command(keys, [0, known.number, known.places, 0])


def ask_slots(
    client: redis.Redis, queue: str, known: QueueSlots, *, prefix: str, number: int = 0, proposed: int = 0
) -> QueueSlots:
    """A queue's slots, and its tasks with limits.

    Args:
        client: of the cluster.
        queue: the queue's name.
        known: what the caller knows, which counts where Redis has lost it.
        prefix: of the keys.
        number: the number to set; 0 for none.
        proposed: the number where the queue has no slots yet; 0 for none.
    """
    lane = LaneKeys(queue, prefix)
    found = script("queue_slots").run(client, [lane.base], [number, known.number, known.places, proposed])
    slots = QueueSlots(*found)
    if slots.places == 1:
        return slots
    limited: Any = client.hkeys(lane.queue(queue).limited)
    return slots._replace(limited=frozenset(map(text, limited)))


def read_slots(client: redis.Redis, queues: Sequence[str], *, prefix: str) -> dict[str, QueueSlots]:
    """The slots of queues, for readers that change nothing; one round trip to each of their nodes."""
    with client.pipeline(transaction=False) as pipeline:
        for queue in queues:
            pipeline.get(LaneKeys(queue, prefix).queue_slots)
        found = pipeline.execute()
    return {queue: parse_slots(raw) for queue, raw in zip(queues, found, strict=True)}


def parse_slots(raw: bytes | str | None) -> QueueSlots:
    """The slots that a queue's key says; one where there is no key."""
    if raw is None:
        return QueueSlots()
    number, places = text(raw).split()
    return QueueSlots(int(number), int(places))
