"""The hash tag of a lane, and the lanes of a queue's slots: what puts keys on one slot of a Redis Cluster."""

from __future__ import annotations

from functools import lru_cache
from itertools import count
from zlib import crc32

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

#: The most slots that a queue is cut into, on a Redis Cluster.
MAX_SLOTS = 64
#: What stands between a queue's name and the slot's number in the name of a slot's lane.
SLOT_MARK = "\0"


def slot_of(basis: str, slots: int) -> int:
    """The slot an id belongs to: CRC32 of its slot basis, modulo a power of two."""
    return crc32(basis.encode()) % slots


def slot_lane(queue: str, slot: int) -> str:
    """The lane of one slot of a queue. Slot 0 is where the queue was before it had slots: in the lane of its name."""
    return f"{queue}{SLOT_MARK}{slot}" if slot else queue


def queue_of_lane(lane: str) -> str:
    """The queue that a lane is of, or a slot of which it is."""
    return lane.partition(SLOT_MARK)[0]


@lru_cache(maxsize=1024)
def tag(lane: str) -> str:
    """The hash tag that puts a lane's keys on one slot of a Redis Cluster.

    Braces in a lane's name would end the tag early, so they are percent-encoded.
    """
    queue, _, slot = lane.partition(SLOT_MARK)
    name = queue.replace("%", "%25").replace("{", "%7B").replace("}", "%7D")
    return f"{{{name}{_suffix(name, int(slot))}}}" if slot else f"{{{name}}}"


def _suffix(name: str, slot: int) -> str:
    """What makes the tag of a queue's slot: ``%s`` (which no queue's name becomes), its number, and a number by choice.

    That one is chosen so that a queue's slots lie evenly over the cluster's: 4 are a quarter of all apart, so each of 4
    nodes has one. It depends on nothing that changes.
    """
    parts = REDIS_CLUSTER_HASH_SLOTS // MAX_SLOTS
    mirrored = int(f"{slot:06b}"[::-1], 2)  # 1, 2, 3 become 32, 16, 48: each power of two is spread as it comes
    wanted = (key_slot(name.encode()) // parts + mirrored) % MAX_SLOTS
    return next(
        suffix
        for suffix in (f"%s{slot}.{number}" for number in count())
        if key_slot(f"{name}{suffix}".encode()) // parts == wanted
    )
