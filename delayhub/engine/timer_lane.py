"""Timers of many queues in one lane: ids that wait until they are due, without payload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, cast
from uuid import uuid4

import redis

from delayhub.engine.delay_queue import chunks, flat_leases
from delayhub.engine.ensure_keys import check_queue, ensure_keys
from delayhub.engine.entry import Counts, Lease, check_flow_key, check_timers, text, texts
from delayhub.engine.gate import NO_REVISION, Gate, Revision
from delayhub.engine.keys import MAX_STEPS, MIDDLE_STEP, LaneKeys, QueueKeys
from delayhub.engine.options import EngineOptions
from delayhub.engine.scripts import script
from delayhub.engine.timer_claim import TimerClaim, by_queue, parse_timer_claim, timer_claim_command

#: Queues that one call counts.
MAX_COUNTED = 100
#: Flow keys of a queue that are asked how many of their timers are due; timers of more count as not due.
COUNTED_KEYS = 1000


class TimerCounts(NamedTuple):
    """How many timers of a queue are where, and when they are due.

    Args:
        waiting: how many are not due yet.
        due: how many are due, and no consumer has them.
        leased: how many consumers have.
        first_ms: when the first that waits or is due is due, Unix ms; None where there is none.
        next_ms: the same of those that are not due yet.
    """

    waiting: int
    due: int
    leased: int
    first_ms: int | None
    next_ms: int | None


class KeyCounts(NamedTuple):
    """How many timers of a flow key wait.

    Args:
        key: the flow key.
        waiting: how many wait, due or not.
        due: how many of them are due.
        turn_ms: when the key next has a turn, Unix ms; earlier than now: it is in the line. 0 where it has no timers.
        in_flight: slots that it holds, where keys have a limit in flight.
    """

    key: str
    waiting: int
    due: int
    turn_ms: int
    in_flight: int


class Admitted(NamedTuple):
    """How many new jobs a queue admitted, and what is left of its limit.

    Args:
        count: how many.
        wait_ms: how long until it admits the next, where no permit is left; else 0.
        left: how many more it would admit now.
        full_ms: how long until all permits are back.
    """

    count: int  # type: ignore[assignment]  # hides the count() of tuples, which has no use here
    wait_ms: int
    left: int
    full_ms: int


class TimerLane:
    """Timers in Redis for rows in a database: an id and a due time, about 130 bytes each.

    A timer is a hint: the row it stands for decides. Queues come into being with their first timer.

    Args:
        client: a redis-py client that does not decode replies.
        name: the lane's name.
        options: see :class:`EngineOptions`.
    """

    def __init__(self, client: redis.Redis, name: str, *, options: EngineOptions | None = None) -> None:
        self.client = client
        self.name = name
        self.options = options or EngineOptions()
        self.keys = LaneKeys(name, self.options.key_prefix)
        self.consumer = uuid4().hex[:12]

    def ensure(
        self, queue: str, timers: Sequence[tuple[str, int]], *, step: int = MIDDLE_STEP, key: str = ""
    ) -> list[str]:
        """For each (id, due ms): ``added``, ``pulled`` (to an earlier time) or ``left``.

        Safe to repeat and in any order: a timer only moves earlier, and a leased one is left to its consumer.

        Args:
            queue: the queue's name.
            timers: (id, due ms) of each.
            step: their priority, 0 (goes first) to 9.
            key: the flow key that they share the queue by; '' for none.

        Raises:
            EntryError: a name, an id, a due time, the step or the key cannot be stored; :meth:`put` raises it too.
        """
        return self.ensure_keys(queue, {key: timers}, step=step)

    def ensure_keys(
        self, queue: str, timers: Mapping[str, Sequence[tuple[str, int]]], *, step: int = MIDDLE_STEP
    ) -> list[str]:
        """As :meth:`ensure`, by one call for the timers of many flow keys; the answers are in the order given."""
        return ensure_keys(self.client, self.keys, queue, timers, step=step)

    def put(
        self,
        queue: str,
        timers: Sequence[tuple[str, int]],
        *,
        step: int = MIDDLE_STEP,
        key: str = "",
        former_key: str | None = None,
    ) -> list[str]:
        """For each (id, due ms): ``added`` or ``moved``, earlier or later; a lease on the timer ends.

        Args:
            queue: the queue's name.
            timers: (id, due ms) of each.
            step: their priority.
            key: their flow key.
            former_key: the flow key that they had; None: the same.
        """
        keys = [key, key if former_key is None else former_key]
        for each in keys:
            check_flow_key(each)
        check_queue(queue)
        check_timers(timers, step)
        answers: list[str] = []
        for chunk in chunks(timers):
            args = [queue, *keys, step, *chain.from_iterable(chunk)]
            answers += texts(self._run("put", queue, args))
        return answers

    def cancel(self, queue: str, ids: Sequence[str], *, key: str = "") -> list[bool]:
        """For each id: whether there was a timer, which had that flow key. Leased ones are removed too."""
        return [bool(found) for chunk in chunks(ids) for found in self._run("cancel_timers", queue, [key, *chunk])]

    def claim(
        self,
        limit: int = 100,
        *,
        acknowledged: Iterable[Lease] = (),
        slot_seconds: float | None = None,
        needs_gates: bool = False,
    ) -> TimerClaim:
        """Up to ``limit`` (at most 1 000) due timers of the queues on the agenda, as their gates and weights allow.

        Args:
            limit: how many at most.
            acknowledged: leases that end with it.
            slot_seconds: how long they hold slots that are not freed; None: as the options say.
            needs_gates: whether queues without a gate that has a revision are shut.
        """
        options = self.options if slot_seconds is None else replace(self.options, slot_seconds=slot_seconds)
        command = timer_claim_command(
            self.name,
            limit=limit,
            consumer=self.consumer,
            options=options,
            acknowledged=acknowledged,
            needs_gates=needs_gates,
        )
        return parse_timer_claim(script("claim_timers").run(self.client, command[3:4], command[4:]))

    def acknowledge(self, leases: Sequence[Lease]) -> int:
        """How many of the leases still held; their timers are gone."""
        return sum(
            script("acknowledge").run(self.client, [self.keys.queue(queue).base, self.keys.base], flat)
            for queue, held in by_queue(leases).items()
            for flat in flat_leases(held)
        )

    def release(self, leases: Sequence[Lease], *, delay_ms: int = 0) -> int:
        """How many of the leases still held; their timers wait again, for the delay or for their own due time."""
        return sum(
            self._run("release_timers", queue, [queue, delay_ms, *flat])
            for queue, held in by_queue(leases).items()
            for flat in flat_leases(held)
        )

    def extend(self, leases: Sequence[Lease], *, lease_ms: int | None = None) -> set[str]:
        """The ids whose leases still held; each now ends ``lease_ms`` from now."""
        length = self.options.lease_ms if lease_ms is None else lease_ms
        return {
            text(found)
            for queue, held in by_queue(leases).items()
            for flat in flat_leases(held)
            for found in script("extend").run(self.client, [self.keys.queue(queue).base], [length, *flat])
        }

    def set_gate(self, queue: str, gate: Gate, *, revision: Revision = NO_REVISION, is_latest: bool = False) -> bool:
        """Lets claims take from the queue only what the gate allows, from now on; False where a newer gate is there.

        Args:
            queue: the queue's name.
            gate: the gate.
            revision: of the row that it was made from.
            is_latest: whether it counts although the gate that is there has a newer revision: the row went back.
        """
        return bool(self._run("set_gate", queue, [queue, *gate.fields, *revision, int(is_latest)]))

    def pause_keys(self, queue: str, until_ms: Mapping[str, int | None]) -> None:
        """Pauses flow keys until these Unix times in ms; None resumes one. Their timers wait."""
        for chunk in chunks(list(until_ms.items())):
            flat = [value for key, at in chunk for value in (key, "" if at is None else at)]
            self._run("pause_key", queue, [queue, *flat])

    def settle(self, queue: str, ids: Sequence[str], *, claimed_until_ms: int | None = None) -> int:
        """How many slots of ``max_in_flight`` were freed: the jobs are done, or given back.

        Args:
            queue: the queue's name.
            ids: the jobs.
            claimed_until_ms: only slots that were taken until then, Redis' time in Unix ms, for a settlement that comes
                late: the same jobs may have been claimed again. None: all.
        """
        slot_ms = int(self.options.slot_seconds * 1000)
        held_until: Any = "" if claimed_until_ms is None else claimed_until_ms + slot_ms
        return sum(self._run("settle", queue, [queue, held_until, *chunk]) for chunk in chunks(ids))

    def old_slots(self, queue: str, *, taken_until_ms: int, skip: int, limit: int) -> list[str]:
        """The jobs whose slots of ``max_in_flight`` were taken until then, Redis' time in Unix ms; the oldest first.

        Slots that are held longer than the options say count as taken later.
        """
        until = taken_until_ms + int(self.options.slot_seconds * 1000)
        key = self.keys.queue(queue).in_flight
        found = cast("list[bytes]", self.client.zrangebyscore(key, "-inf", until, start=skip, num=limit))
        return [text(name) for name in found]

    def keep_slots(self, queue: str, ids: Sequence[str], *, until_ms: int) -> int:
        """How many slots of ``max_in_flight`` are held longer than before: until that Unix time in ms, at least."""
        held = self.keys.queue(queue).in_flight
        return int(cast("int", self.client.zadd(held, dict.fromkeys(ids, until_ms), xx=True, gt=True, ch=True)))

    def admit(self, queue: str, *, count: int, rate_per_second: float, burst: int) -> Admitted:
        """How many of ``count`` new jobs are admitted at that rate, which uses up their permits; and how long to wait.

        Args:
            queue: the queue's name.
            count: how many are asked for.
            rate_per_second: permits a second (GCRA).
            burst: permits that may be used at once after a pause.
        """
        reply = script("admit").run(
            self.client, [self.keys.queue(queue).base], [repr(float(rate_per_second)), burst, count]
        )
        return Admitted(*reply)

    def hold(self, holder: str, *, lease_ms: int) -> bool:
        """Whether ``holder`` is the one loader that brings timers into this lane, for so long from now."""
        return bool(script("hold").run(self.client, [self.keys.base], [holder, lease_ms]))

    def queues(self) -> list[str]:
        """The queues that have timers or leases, in the order of the agenda."""
        names = cast("list[bytes]", self.client.zrange(self.keys.agenda, 0, -1))
        return [text(name) for name in names]

    def outlook(self, queues: Sequence[str]) -> list[TimerCounts]:
        """How many timers each of these queues has, and when the first ones are due."""
        found: list[TimerCounts] = []
        for chunk in chunks(queues, MAX_COUNTED):
            replies = script("count_timers").run(self.client, [self.keys.base], [COUNTED_KEYS, *chunk])
            for waiting, due, leased, first_ms, next_ms in replies:
                times = (None if at < 0 else at for at in (first_ms, next_ms))
                found.append(TimerCounts(waiting, due, leased, *times))
        return found

    def count(self, queue: str | None = None) -> int:
        """How many timers wait or are leased, in one queue or in all of the lane."""
        return sum(
            each.waiting + each.due + each.leased for each in self.outlook(self.queues() if queue is None else [queue])
        )

    def counts(self) -> Counts:
        """How many timers of the lane wait for their time, are due, are leased; none is ever dead."""
        found = self.outlook(self.queues())
        waiting, due, leased = (sum(each[part] or 0 for each in found) for part in range(3))
        return Counts(waiting, due, leased, 0)

    def look(self, queue: str, ids: Sequence[str], *, key: str = "") -> list[int | None]:
        """When each timer of that flow key fires, in Unix ms; 0 where a consumer holds it, None where there is none."""
        found = [at for chunk in chunks(ids) for at in self._run("look_timers", queue, [key, *chunk])]
        return [None if at < 0 else at for at in found]

    def count_keys(self, queue: str, keys: Sequence[str] = (), *, most: int = COUNTED_KEYS) -> list[KeyCounts]:
        """How many timers some flow keys of the queue have; '' stands for timers without one.

        Args:
            queue: the queue's name.
            keys: the flow keys; none: the first ones in the line.
            most: how many of the line at most.
        """
        reply = self._run("count_keys", queue, [min(most, COUNTED_KEYS), *keys[:COUNTED_KEYS]])
        return [KeyCounts(text(key), *counts) for key, *counts in reply]

    def waiting(self, queue: str) -> Iterator[tuple[str, list[str]]]:
        """All timers that wait, as flow keys ('' for none) and pages of ids, in no order.

        Those that come or go meanwhile may be missing.
        """
        keys = self.keys.queue(queue)
        yield from (("", page) for page in self._waiting(keys))
        for line in self._scan(keys.turns):
            for key in filter(None, line):
                yield from ((key, page) for page in self._waiting(keys.flow_key(key)))

    def _waiting(self, keys: QueueKeys) -> Iterator[list[str]]:
        for key in (keys.waiting, *(keys.step_waiting(step) for step in range(MAX_STEPS))):
            yield from self._scan(key)

    def _scan(self, key: str) -> Iterator[list[str]]:
        cursor = -1
        while cursor:
            cursor, page = cast("tuple[int, list[Any]]", self.client.zscan(key, max(cursor, 0), count=500))
            if page:
                yield [text(member) for member, _ in page]

    def _run(self, verb: str, queue: str, args: Sequence[Any]) -> Any:
        return script(verb).run(self.client, [self.keys.queue(queue).base, self.keys.base], args)
