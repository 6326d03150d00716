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
#: Messages that are listed at once.
MOST_LISTED = 1000
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


def redrive_all(queue: DelayQueue) -> Outcome:
    """The same for all that are dead now; those that stay, since another message has their unique key, are left."""
    dead, seen, left = queue.count().dead, 0, 0
    # No more than were dead at the start: one that dies again at once is not brought back for ever.
    while seen < dead and (page := queue.list(Place.DEAD, offset=left, limit=min(MOST_LISTED, dead - seen))):
        done = redrive(queue, [listed.id for listed in page])
        seen, left = seen + len(page), left + len(page) - done
    return Outcome(seen - left, left)


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
    done = seen = 0
    ids: list[str] = []
    while done < MOST_MESSAGES and seen < total:
        # Read before anything is changed, since what is done changes who comes next; behind those that stayed.
        found = _ids(queue, place, offset=max(0, seen - done), but_at_ms=but_at_ms)
        ids = ids or list(islice(found, min(MOST_MESSAGES, total - seen)))
        if not ids or clock.monotonic() > end:
            break
        step = ids[: min(STEP_IDS, MOST_MESSAGES - done)]
        del ids[: len(step)]
        done, seen = done + deed(step), seen + len(step)
    return Outcome(done, max(0, total - done))  # copies of a task are revoked with it, wherever they are


def _ids(queue: DelayQueue, place: Place, *, offset: int, but_at_ms: int | None) -> Iterator[str]:
    while page := queue.list(place, offset=offset, limit=MOST_LISTED):
        yield from (listed.id for listed in page if listed.at_ms != but_at_ms)
        offset += len(page)
