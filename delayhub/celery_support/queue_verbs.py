"""Verbs over messages of a queue: those named, or as many of a whole place as a time allows; no worker is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from kombu.utils.json import dumps

from delayhub.clock import Clock, SystemClock
from delayhub.engine import DelayQueue, Place
from delayhub.engine.keys import directory
from delayhub.transport.envelope import Unreadable, from_payload

#: Ids that one step of a verb takes.
STEP_IDS = 200
#: Messages that one call over a whole place takes at most, and for how long it goes on.
MOST_MESSAGES, MOST_SECONDS = 10_000, 2.0

#: What a verb does to some ids: how many were done.
Deed = Callable[[Sequence[str]], int]


class Outcome(NamedTuple):
    """How many messages a verb was done to, and how many it left: held by workers, gone, or beyond its time."""

    done: int
    left: int


def reschedule(queue: DelayQueue, ids: Sequence[str], *, due_ms: int) -> int:
    """How many messages were moved to that time; a time that has passed makes them ready. Held ones are not moved."""
    return Counter(queue.reschedule(ids, due_ms=due_ms))["moved"]


def redrive(queue: DelayQueue, ids: Sequence[str]) -> int:
    """How many dead messages are ready again, without their strikes."""
    return queue.redrive(ids) if ids else 0


def transfer(queue: DelayQueue, ids: Sequence[str], *, to: DelayQueue) -> int:
    """How many messages are in the other queue now; those that workers hold are not moved.

    They say that they were sent to that queue, so that a task that tries again is sent there too.
    """
    if to.name == queue.name:
        return 0
    payloads = queue.stored(ids)
    messages = {entry_id: (payload, addressed(payload, to.name)) for entry_id, payload in payloads.items()}
    to.client.sadd(directory(to.options.key_prefix), to.name)
    return Counter(queue.transfer(messages, to=to))["moved"]


def addressed(payload: bytes, queue: str) -> bytes:
    """A message as if it had been sent to the queue by its name; an unreadable one stays as it is."""
    try:
        message = from_payload(payload)
        info = message["properties"].setdefault("delivery_info", {})
        info.update(exchange="", routing_key=queue)
    except (Unreadable, AttributeError, TypeError):
        return payload
    return dumps(message, separators=(",", ":")).encode()


def over_place(
    queue: DelayQueue, place: Place, deed: Deed, *, but_at_ms: int | None = None, clock: Clock | None = None
) -> Outcome:
    """Does it to the messages of a place, the first first, until 10 000 are done or two seconds are over.

    Args:
        queue: the queue.
        place: waiting, ready or dead.
        deed: what is done to some ids.
        but_at_ms: leave out those whose time is this already: the ones that an earlier call moved there.
        clock: tells the time.
    """
    clock = clock or SystemClock()
    end = clock.monotonic() + MOST_SECONDS
    total = int(getattr(queue.count(), place.value))
    if but_at_ms is not None and place is Place.WAITING:
        for part in queue.parts:
            total -= int(part.client.zcount(part.keys.waiting, but_at_ms * 16, but_at_ms * 16 + 15))
    # Read before anything is changed, since what is done changes who comes next.
    ids = list(islice(_ids(queue, place, but_at_ms=but_at_ms), min(MOST_MESSAGES, total)))
    done = seen = 0
    for start in range(0, len(ids), STEP_IDS):
        if clock.monotonic() > end:
            break
        step = ids[start : start + STEP_IDS]
        done, seen = done + deed(step), seen + len(step)
    return Outcome(done, max(0, total - done))  # copies of a task are revoked with it, wherever they are


def _ids(queue: DelayQueue, place: Place, *, but_at_ms: int | None) -> Iterator[str]:
    offset = 0
    while page := queue.list(place, offset=offset, limit=1000):
        yield from (listed.id for listed in page if listed.at_ms != but_at_ms)
        offset += len(page)
