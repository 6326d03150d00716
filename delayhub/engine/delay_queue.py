"""One queue of messages that wait until they are due."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from uuid import uuid4

import redis

from delayhub.engine.claim import Claim, ClaimedQueue, claim_command, parse_claim
from delayhub.engine.entry import Counts, Entry, Lease, Listed, Mode, Place, Reaped, Scheduled, parse_scheduled, text
from delayhub.engine.keys import MAX_STEPS, PARK_SINCE, PARK_STEP, LaneKeys
from delayhub.engine.options import EngineOptions
from delayhub.engine.scripts import script
from delayhub.engine.task_name import parking_names
from delayhub.redis_cluster import ClusterClient, QueuesApart, slot_of_key

T = TypeVar("T")

#: Entries that one script call takes, so that no call keeps Redis busy for long.
CHUNK = 500


class DelayQueue:
    """A durable queue with due times, leases and dead letters, in Redis.

    Any number of producers and consumers may use it at once; every verb is one atomic script. The clock is Redis' own.

    Args:
        client: a redis-py client that does not decode replies.
        name: the queue's name.
        lane: the lane it is in; one of its own by default.
        options: see :class:`EngineOptions`.
    """

    def __init__(
        self, client: redis.Redis, name: str, *, lane: str | None = None, options: EngineOptions | None = None
    ) -> None:
        self.client = client
        self.name = name
        self.lane = lane or name
        self.options = options or EngineOptions()
        self.lane_keys = LaneKeys(self.lane, self.options.key_prefix)
        self.keys = self.lane_keys.queue(name)
        self.consumer = uuid4().hex[:12]

    @property
    def parts(self) -> Sequence[DelayQueue]:
        """The queue itself; where it has slots, the queue of each."""
        return (self,)

    def over(self, client: redis.Redis) -> DelayQueue:
        """The same queue, reached through another client."""
        return DelayQueue(client, self.name, lane=self.lane, options=self.options)

    # ------------------------------------------------------------ producing

    def schedule(self, entries: Sequence[Entry], *, mode: Mode = Mode.NEW) -> list[Scheduled]:
        """What became of each entry, in order. 500 entries travel in one call; each call is atomic.

        Raises:
            redis.RedisError: Redis cannot be reached, or its memory is full; earlier calls of 500 are stored.
        """
        answers: list[Scheduled] = []
        for chunk in chunks(entries):
            args: list[Any] = [mode.value]
            for entry in chunk:
                args += [entry.id, entry.due_ms, entry.step, entry.payload, entry.publish_token]
            reply = self._run("schedule", args, lane=True)
            answers += [parse_scheduled(entry.id, answer) for entry, answer in zip(chunk, reply, strict=True)]
        return answers

    def reschedule(self, ids: Sequence[str], *, due_ms: int) -> list[str]:
        """For each id: ``moved``, ``leased`` (a consumer holds it, so it was not moved) or ``absent``."""
        answers = dict.fromkeys(ids, "absent")
        for chunk, first, last in self._stretches(ids):
            reply = self._run("reschedule", [due_ms, first, last, *chunk], lane=True)
            for entry_id, answer in zip(chunk, map(text, reply), strict=True):
                answers[entry_id] = max(answers[entry_id], answer)  # "moved" before "leased" before "absent"
        return [answers[entry_id] for entry_id in ids]

    def cancel(self, ids: Sequence[str], *, tombstone_ms: int = 0) -> list[int]:
        """For each id: how many entries were removed, copies included. Leased entries stay with their consumer.

        A tombstone marks entries of the id that come later as revoked, for so long.
        """
        removed = dict.fromkeys(ids, 0)
        for chunk, first, last in self._stretches(ids):
            reply = self._run("cancel", [tombstone_ms, first, last, *chunk])
            for entry_id, count in zip(chunk, reply, strict=True):
                removed[entry_id] += count
        return [removed[entry_id] for entry_id in ids]

    def revoked(self) -> list[str]:
        """Return the ids that have a tombstone whose time is not over: others are free, and may wait again."""
        seconds, micros = self.client.time()
        since = f"({seconds * 1000 + micros // 1000}"
        replies: list[Any] = [part.client.zrangebyscore(part.keys.revoked, since, "+inf") for part in self.parts]
        return [text(entry_id) for reply in replies for entry_id in reply]

    def discard(self, ids: Sequence[str]) -> int:
        """How many entries were removed: these, without their copies, where no consumer holds them."""
        return sum(self._run("discard", chunk) for chunk in chunks(ids))

    def transfer(self, messages: Mapping[str, tuple[bytes, bytes]], *, to: DelayQueue) -> list[str]:
        """For each message: ``moved`` to another queue of the server, ``leased``, or ``absent`` (gone, or changed).

        Each keeps its due time and priority; a dead one is ready there.

        Args:
            messages: by id, the payload as it was read here, and the one that it has there.
            to: another queue, reached through the same client.

        Raises:
            QueuesApart: the two are in different slots of a Redis Cluster.
        """
        if isinstance(self.client, ClusterClient) and slot_of_key(self.keys.base) != slot_of_key(to.keys.base):
            raise QueuesApart
        answers: list[str] = []
        for chunk in chunks(list(messages.items()), CHUNK // 5):  # each call carries payloads
            args: list[Any] = []
            for entry_id, (read, new) in chunk:
                args += [entry_id, hashlib.sha1(read).hexdigest(), new]  # noqa: S324  Redis' own function
            keys = [self.keys.base, to.keys.base, to.lane_keys.base]
            answers += map(text, script("transfer").run(self.client, keys, args))
        return answers

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
        """Up to ``limit`` due messages, leased to the caller; first in, first out within a priority step.

        Args:
            limit: at most 1 000; a claim also ends at ``max_claim_bytes`` of payload.
            acknowledged: leases of earlier entries that are done.
            no_ack: delete the entries as they are claimed.
            lease_ms: how long they are leased; the options' lease by default.
            free: messages of tasks with a limit, also beyond ``limit``, which is its default.
        """
        done = [(lease.id, lease.token) for lease in acknowledged]
        command = claim_command(
            [ClaimedQueue(self.lane, self.name, no_ack, done)],
            limit=limit,
            consumer=self.consumer,
            options=self.options,
            free=free,
        )
        keys, args = command[3:5], list(command[5:])
        if lease_ms is not None:
            args[1] = lease_ms
        return parse_claim(script("claim").run(self.client, keys, args))

    def lease(self, entry_id: str, token: int) -> Lease:
        """The lease of a claimed entry of this queue."""
        return Lease(self.lane, self.name, entry_id, token)

    def acknowledge(self, leases: Sequence[Lease]) -> int:
        """How many entries are gone for good: those whose leases still held, or ran out while the holder worked."""
        return sum(self._of_leases("acknowledge", leases, lane=True))

    def release(self, leases: Sequence[Lease], *, delay_ms: int = 0, delivered: bool = False) -> int:
        """How many of the leases still held; their entries are back in their place, or wait for the delay.

        Args:
            leases: what is given back.
            delay_ms: how long they wait; 0 for their place in line.
            delivered: a program has seen them, so that the next one gets them marked as redelivered.
        """
        return sum(self._of_leases("release", leases, delay_ms, int(delivered), lane=True))

    def extend(self, leases: Sequence[Lease], *, lease_ms: int | None = None) -> set[str]:
        """The ids whose leases still held; each now ends ``lease_ms`` from now."""
        length = self.options.lease_ms if lease_ms is None else lease_ms
        return {text(found) for kept in self._of_leases("extend", leases, length) for found in kept}

    def bury(self, leases: Sequence[Lease], *, reason: str) -> int:
        """How many of the leases still held; their entries are dead, for the reason given."""
        return sum(self._of_leases("bury", leases, reason))

    def strike(self, leases: Sequence[Lease], *, why: str) -> Reaped:
        """How many entries went back to their place with a strike, and how many are dead now; ``why`` is the reason."""
        answers = list(self._of_leases("strike", leases, self.options.max_strikes, why, lane=True))
        return Reaped(sum(returned for returned, _ in answers), sum(died for _, died in answers))

    def _of_leases(self, verb: str, leases: Sequence[Lease], *args: Any, lane: bool = False) -> Iterator[Any]:
        """What a verb answers for the leases, call by call."""
        return (self._run(verb, [*args, *flat], lane=lane) for flat in flat_leases(leases))

    # ------------------------------------------------------------ tending

    def reap(self, *, limit: int = 100) -> Reaped:
        """Takes leases back that ran out, each with a strike; every claim does this too."""
        return Reaped(*self._run("reap", [min(limit, CHUNK), self.options.max_strikes], lane=True))

    def redrive(self, ids: Sequence[str] | None = None, *, limit: int = 100) -> int:
        """How many dead messages are ready again: those named, or the ``limit`` (at most 1 000) oldest."""
        if ids is None:
            return int(self._run("redrive", [min(limit, 1000)], lane=True))
        return sum(self._run("redrive", [len(chunk), *chunk], lane=True) for chunk in chunks(ids))

    def wake(self) -> None:
        """Ring the bell again after a consumer has heard it and cannot claim."""
        script("wake").run(self.client, [self.lane_keys.base], [])

    def purge(self) -> int:
        """How many messages were removed: all that no consumer holds, but not the dead."""
        removed = int(self._run("purge", [CHUNK]))
        if removed >= 0:
            return removed
        # Too much is kept to copy it aside in one call. Messages that are published meanwhile stay.
        counts, removed = self.count(), 0
        while some := self._run("purge_some", [min(CHUNK, counts.waiting + counts.ready + counts.parked - removed)]):
            removed += some
        return removed

    def delete(self) -> int:
        """Removes the queue with everything in it, leases and dead included; how many keys that were."""
        parked = [self.keys.parked_by(task) for task in self.parking_tasks()]
        return int(self.client.unlink(*parked, *self.keys.every, self.lane_keys.wake, self.lane_keys.alarm))

    def expire(self, after_ms: int) -> None:
        """Lets all keys of the queue expire after so many ms from now; one round trip where nothing is parked."""
        lane = self.lane_keys
        with self.client.pipeline(transaction=False) as pipeline:
            for key in (*self.keys.every, lane.wake, lane.token, lane.alarm):
                pipeline.pexpire(key, after_ms)
            # In the same round trip: a moment later these may have expired, and what they name would stay.
            pipeline.zrange(self.keys.open, 0, -1)
            pipeline.zrange(self.keys.shut, 0, -1)
            *_, can_start, cannot = pipeline.execute()
        for task in map(text, [*can_start, *cannot]):
            self.client.pexpire(self.keys.parked_by(task), after_ms)

    # ------------------------------------------------------------ looking

    def count(self) -> Counts:
        """How many entries are where."""
        return Counts(*self._run("count", []))

    def parking_tasks(self, *, most: int = 0) -> list[str]:
        """The tasks, and flow keys of tasks, whose limits hold messages back; about ``most``, where it is given."""
        last = most - 1
        found: Any = [*self.client.zrange(self.keys.open, 0, last), *self.client.zrange(self.keys.shut, 0, last)]
        return [text(task) for task in found]

    def payloads(self, ids: Sequence[str]) -> dict[str, list[bytes]]:
        """The payloads stored under each id and its copies."""
        found: dict[str, list[bytes]] = {entry_id: [] for entry_id in ids}
        for chunk, first, last in self._stretches(ids):
            for entry_id, payloads in zip(chunk, self._run("payloads", [first, last, *chunk]), strict=True):
                found[entry_id] += payloads
        return found

    def stored(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The payload of each of these entries that exists, without copies."""
        found: dict[str, bytes] = {}
        for chunk in chunks(ids, CHUNK // 5):
            payloads: Any = self.client.hmget(self.keys.payload, list(chunk))
            found |= {one: payload for one, payload in zip(chunk, payloads, strict=True) if payload is not None}
        return found

    def look(self, entry_id: str) -> dict[Place, list[Listed]]:
        """Where an id and its copies are, with their payloads; the first hundred copies that were drawn."""
        drawn: Any = self.client.hget(self.keys.copies, f"n:{entry_id}")
        ids = [entry_id, *(f"{entry_id}#{number}" for number in range(1, min(int(drawn or 0), 100) + 1))]
        places = [(Place.WAITING, self.keys.waiting), (Place.LEASED, self.keys.leased), (Place.DEAD, self.keys.dead)]
        places += [(Place.READY, self.keys.ready(step)) for step in range(MAX_STEPS)]
        with self.client.pipeline(transaction=False) as pipeline:
            for _, key in places:
                pipeline.zmscore(key, ids)
            for key in (self.keys.payload, self.keys.strikes, self.keys.reason):
                pipeline.hmget(key, ids)
            *scores, payloads, strikes, reasons = pipeline.execute()
        found: dict[Place, list[Listed]] = {}
        for number, (place, of_place) in enumerate(zip((place for place, _ in places), scores, strict=True)):
            for one, score, payload, struck, reason in zip(ids, of_place, payloads, strikes, reasons, strict=True):
                if score is not None:
                    at_ms, step = _at(place, int(score), number - 3)
                    why = text(reason) if reason else None
                    listed = Listed(one, at_ms, step, int(struck or 0), why, payload, struck is not None)
                    found.setdefault(place, []).append(listed)
        return found | self._look_parked(ids, payloads, strikes)

    def _look_parked(self, ids: Sequence[str], payloads: Any, strikes: Any) -> dict[Place, list[Listed]]:
        found: dict[Place, list[Listed]] = {}
        for one, payload, struck in zip(ids, payloads, strikes, strict=True):
            for name in parking_names(payload) if payload else ():
                place: Any = self.client.zscore(self.keys.parked_by(name), one)
                if place is None:
                    continue
                step, score = divmod(int(place), PARK_STEP)
                listed = Listed(
                    one, (score + PARK_SINCE) // 1000, step, int(struck or 0), None, payload, struck is not None
                )
                found.setdefault(Place.PARKED, []).append(listed)
        return found

    def list(self, place: Place | str, *, offset: int = 0, limit: int = 100, payloads: bool = False) -> list[Listed]:
        """A page of entries, the soonest (waiting, leased), first in line (ready) or oldest (dead) first."""
        reply = self._run("list", [Place(place).value, offset, min(limit, 1000), int(payloads)])
        return [
            Listed(
                text(found), int(at), int(step), int(strikes), text(reason) if reason else None, payload, bool(again)
            )
            for found, at, step, strikes, reason, payload, again in reply
        ]

    def _stretches(self, ids: Sequence[str]) -> Iterator[tuple[Sequence[str], int, int]]:
        """Ids, and the first and last number of their copies, for one call each; ids with thousands of copies too."""
        most = self._most_copies([f"n:{entry_id}" for entry_id in ids]) if ids else 0
        stretch = min(most, CHUNK)
        for first in range(0, most + 1, stretch + 1):
            for chunk in chunks(ids, CHUNK // (stretch + 1) or 1):
                yield chunk, first, first + stretch

    def _most_copies(self, fields: Sequence[str]) -> int:
        """The most copies that were ever drawn of an id, by these fields of ``copies``."""
        drawn: Any = self.client.hmget(self.keys.copies, list(fields))
        return max((int(count) for count in drawn if count), default=0)

    def _run(self, verb: str, args: Sequence[Any], *, lane: bool = False) -> Any:
        keys = [self.keys.base, self.lane_keys.base] if lane else [self.keys.base]
        return script(verb).run(self.client, keys, args)


def _at(place: Place, score: int, ready_step: int) -> tuple[int, int]:
    """The time in ms and the step that a score in a set of that place means."""
    match place:
        case Place.WAITING:
            return score // 16, score % 16
        case Place.READY:
            return score // 1000, ready_step
    return score, 0


def chunks(items: Sequence[T], size: int = CHUNK) -> Iterator[Sequence[T]]:
    """The items in pieces of at most ``size``."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def flat_leases(leases: Sequence[Lease]) -> Iterator[list[Any]]:
    """Leases as the scripts take them: id, token, id, token …, a chunk at a time."""
    for chunk in chunks(leases):
        yield [field for lease in chunk for field in (lease.id, lease.token)]
