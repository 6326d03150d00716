"""One queue of messages that is cut into slots, on a Redis Cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import redis
from redis.exceptions import NoScriptError

from delayhub.engine.claim import Claim
from delayhub.engine.delay_queue import CHUNK, DelayQueue, chunks
from delayhub.engine.entry import Entry, Lease, Listed, Mode, Place, Scheduled
from delayhub.engine.lane_tag import slot_lane
from delayhub.engine.options import EngineOptions
from delayhub.engine.queue_slots import QueueSlots, read_slots
from delayhub.engine.scripts import script
from delayhub.engine.task_name import flow_key_of, task_of
from delayhub.redis_cluster import ClusterClient, QueuesApart

K = TypeVar("K")
V = TypeVar("V")

#: Entries that one call lists.
PAGE = 1000


class SpreadQueue(DelayQueue):
    """A queue whose messages are in several slots, each of which may be on another node.

    A message is stored in the slot of its id. What is asked of ids, or of the whole queue, is asked of all slots: the
    number may have changed since a message was stored. Calls for ids, and counts, go to all slots of a node in one
    write. Each call to one slot is atomic, a verb is not. Order and priority hold within a slot. The keys of this
    object are those of slot 0.

    Args:
        client: of the cluster.
        name: the queue's name.
        slots: how many there are.
        options: see :class:`EngineOptions`.
    """

    def __init__(
        self, client: redis.Redis, name: str, *, slots: QueueSlots, options: EngineOptions | None = None
    ) -> None:
        super().__init__(client, name, options=options)
        self.slots = slots

    @cached_property
    def _parts(self) -> tuple[DelayQueue, ...]:
        return tuple(
            DelayQueue(self.client, self.name, lane=slot_lane(self.name, slot), options=self.options)
            for slot in range(self.slots.places)
        )

    @property
    def parts(self) -> Sequence[DelayQueue]:
        """The queue of each slot."""
        return self._parts

    def over(self, client: redis.Redis) -> DelayQueue:
        """The same queue, reached through another client."""
        return SpreadQueue(client, self.name, slots=self.slots, options=self.options)

    # ------------------------------------------------------------ producing

    def takes_in_first(self, entry: Entry, *, unique_key: str | None = None) -> bool:
        """Whether a message may be in slot 0: limits and unique keys count in the slot of their other messages."""
        if unique_key is not None:
            return self.slots.slot(unique_key, None) == 0
        return not self.slots.shared_slot(task_of(entry.payload), flow_key_of(entry.payload))

    def schedule(self, entries: Sequence[Entry], *, mode: Mode = Mode.NEW) -> list[Scheduled]:
        """What became of each entry, in order; one call a slot."""
        slots = [self.slots.slot(entry.id, task_of(entry.payload), flow_key_of(entry.payload)) for entry in entries]
        answers: dict[int, Scheduled] = {}
        for part, places in _grouped(range(len(entries)), lambda place: self.parts[slots[place]]).items():
            stored = part.schedule([entries[place] for place in places], mode=mode)
            answers.update(zip(places, stored, strict=True))
        return [answers[place] for place in range(len(entries))]

    def transfer(self, messages: Mapping[str, tuple[bytes, bytes]], *, to: DelayQueue) -> list[str]:
        """Raises QueuesApart: no step holds two slots."""
        raise QueuesApart

    def _most_copies(self, fields: Sequence[str]) -> int:
        with self.client.pipeline(transaction=False) as pipeline:
            for part in self.parts:
                pipeline.hmget(part.keys.copies, list(fields))
            return max((int(count) for found in pipeline.execute() for count in found if count), default=0)

    def _run(self, verb: str, args: Sequence[Any], *, lane: bool = False) -> Any:
        """What a verb answers in all slots together; the calls to the slots of one node travel in one write."""
        each = script(verb)
        keys = [[part.keys.base, part.lane_keys.base] if lane else [part.keys.base] for part in self.parts]
        with self.client.pipeline(transaction=False) as pipeline:
            send: Callable[..., Any] = pipeline.execute_command
            for of_part in keys:
                send(*each.command(of_part, args))
            answers: list[Any] = pipeline.execute(raise_on_error=False)
        for place, answer in enumerate(answers):
            if isinstance(answer, NoScriptError):
                answers[place] = each.run(self.client, keys[place], args)
            elif isinstance(answer, Exception):
                raise answer
        return TOGETHER.get(verb, _sums)(answers)

    # ------------------------------------------------------------ consuming

    def claim(
        self,
        limit: int = 100,
        *,
        acknowledged: Iterable[Lease] = (),
        no_ack: bool = False,
        lease_ms: int | None = None,
        free: int | None = None,
    ) -> Claim:
        """Up to ``limit`` due messages of the first slot that has any; their leases are of that slot's lane.

        A caller that leases them asks each of :attr:`parts` by itself.
        """
        of_lanes = _grouped(acknowledged, lambda lease: lease.lane)
        for part in self.parts:
            done = of_lanes.get(part.lane, ())
            found = part.claim(limit, acknowledged=done, no_ack=no_ack, lease_ms=lease_ms, free=free)
            if found.entries:
                break
        return found

    def _of_leases(self, verb: str, leases: Sequence[Lease], *args: Any, lane: bool = False) -> Iterator[Any]:
        of_lanes = _grouped(leases, lambda lease: lease.lane)
        for part in self.parts:
            yield from part._of_leases(verb, of_lanes.get(part.lane, ()), *args, lane=lane)

    # ------------------------------------------------------------ tending

    def redrive(self, ids: Sequence[str] | None = None, *, limit: int = 100) -> int:
        """How many dead messages are ready again: those named, or the ``limit`` oldest of all slots."""
        if ids is None:
            ids = [listed.id for listed in self.list(Place.DEAD, limit=min(limit, PAGE))]
        return super().redrive(ids) if ids else 0

    def purge(self) -> int:
        """How many messages were removed."""
        return sum(part.purge() for part in self.parts)

    def delete(self) -> int:
        """Removes the queue with everything in it, and the number of its slots; how many keys that were."""
        return sum(part.delete() for part in self.parts) + int(self.client.unlink(self.lane_keys.queue_slots))

    def expire(self, after_ms: int) -> None:
        """Lets all keys of the queue expire after so many ms from now."""
        for part in self.parts:
            part.expire(after_ms)

    # ------------------------------------------------------------ looking

    def parking_tasks(self, *, most: int = 0) -> list[str]:
        """The tasks, and flow keys of tasks, whose limits hold messages back."""
        return list(dict.fromkeys(task for part in self.parts for task in part.parking_tasks(most=most)))

    def stored(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The payload of each of these entries that exists, without copies."""
        found: dict[str, bytes] = {}
        for chunk in chunks(ids, CHUNK // 5):
            with self.client.pipeline(transaction=False) as pipeline:
                for part in self.parts:
                    pipeline.hmget(part.keys.payload, list(chunk))
                for payloads in pipeline.execute():
                    found |= {one: each for one, each in zip(chunk, payloads, strict=True) if each is not None}
        return found

    def look(self, entry_id: str) -> dict[Place, list[Listed]]:
        """Where an id and its copies are, with their payloads."""
        found: dict[Place, list[Listed]] = {}
        for part in self.parts:
            for place, listed in part.look(entry_id).items():
                found.setdefault(place, []).extend(listed)
        return found

    def list(self, place: Place | str, *, offset: int = 0, limit: int = 100, payloads: bool = False) -> list[Listed]:
        """A page of entries of all slots together, in the order of a queue; the first pages cost least."""
        last = offset + min(limit, PAGE)
        by_step = Place(place) in (Place.READY, Place.PARKED)
        found = [(listed, part) for part in self.parts for listed in _first(part, place, last)]
        found.sort(key=lambda each: (each[0].step if by_step else 0, each[0].at_ms))
        page = found[offset:last]
        if not payloads:
            return [listed for listed, _ in page]
        texts = {
            (part.lane, entry_id): payload
            for part, own in _grouped(page, lambda each: each[1]).items()
            for entry_id, payload in part.stored([listed.id for listed, _ in own]).items()
        }
        return [listed._replace(payload=texts.get((part.lane, listed.id))) for listed, part in page]


def find_queue(client: redis.Redis, name: str, *, options: EngineOptions) -> DelayQueue:
    """The queue of that name as it is now: where the client is of a cluster, with all its slots."""
    return find_queues(client, [name], options=options)[0]


def find_queues(client: redis.Redis, names: Sequence[str], *, options: EngineOptions) -> list[DelayQueue]:
    """The queues of these names, as :func:`find_queue` gives them; together they are asked for."""
    if not isinstance(client, ClusterClient):
        return [DelayQueue(client, name, options=options) for name in names]
    found = read_slots(client, names, prefix=options.key_prefix)
    return [queue_with(client, name, slots=found[name], options=options) for name in names]


def queue_with(client: redis.Redis, name: str, *, slots: QueueSlots, options: EngineOptions) -> DelayQueue:
    """The queue of that name, in as many places as it has."""
    if slots.places == 1:
        return DelayQueue(client, name, options=options)
    return SpreadQueue(client, name, slots=slots, options=options)


def _first(part: DelayQueue, place: Place | str, count: int) -> Iterator[Listed]:
    """The first entries of a slot, without their payloads."""
    for start in range(0, count, PAGE):
        page = part.list(place, offset=start, limit=min(PAGE, count - start))
        yield from page
        if len(page) < PAGE:
            return


def _grouped(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    groups: dict[K, list[V]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def _sums(answers: Sequence[Any]) -> Any:
    """The sum of numbers, or of those in the same place of lists."""
    return [sum(found) for found in zip(*answers, strict=True)] if isinstance(answers[0], list) else sum(answers)


#: How the answers of slots are one answer, of verbs whose are no numbers.
TOGETHER: dict[str, Callable[[Sequence[Any]], Any]] = {
    "reschedule": lambda answers: [max(found) for found in zip(*answers, strict=True)],  # "moved", "leased", "absent"
    "payloads": lambda answers: [list(chain.from_iterable(found)) for found in zip(*answers, strict=True)],
}
