"""Random verbs against a plain model: an id is in exactly one place, and has a payload only while it is in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from delayhub.engine import DelayQueue, EngineOptions, Entry, Lease, Mode, Place
from delayhub.engine.limits import SET, SET_AT_ONCE, Limit, flying_counts, parked_counts, set_limits
from delayhub.engine.unique import start
from tests.property_sizes import examples

FAR = 4_000_000_000_000
IDS = st.sampled_from([f"id{number}" for number in range(3)])
STEPS = st.integers(0, 3)
TASKS = st.sampled_from(["shop.a", "shop.b"])
#: A limit that lets one start, and no other while the test runs.
ONCE = Limit(10**13)

LINE = (Place.READY, Place.PARKED)

_server: list[redis.Redis] = []


@pytest.fixture(autouse=True)
def server(redis_client: redis.Redis) -> Iterator[None]:
    _server[:] = [redis_client]
    yield
    _server.clear()


@dataclass
class Held:
    """Where the model thinks an entry is. ``order`` is its place in line, kept while it is leased."""

    place: Place
    step: int
    order: int
    payload: bytes
    strikes: int = 0
    redelivered: bool = False
    token: int = 0
    task: str = ""
    lost: int = 0
    expired: bool = False
    #: It counts among those of its task that may run at once, while it is leased.
    flies: bool = False
    #: It was acknowledged when its task started, or by one that had lost its lease, and is leased only to count.
    done: bool = False


@dataclass
class Model:
    entries: dict[str, Held] = field(default_factory=dict)
    drawn: dict[str, int] = field(default_factory=dict)
    line: int = 0
    #: Tasks with a limit, and whether it lets one more start.
    open: dict[str, bool] = field(default_factory=dict)
    #: Tasks of which so many may run at once.
    at_once: dict[str, int] = field(default_factory=dict)

    def flying(self) -> Counter[str]:
        """How many messages of each task count among those that run at once."""
        return Counter(held.task for held in self.entries.values() if held.place is Place.LEASED and held.flies)

    def may_start(self, task: str) -> bool:
        """Whether the limits of a task let one more start."""
        return self.open.get(task, True) and self.flying()[task] < self.at_once.get(task, 100)

    def unpark(self, task: str) -> None:
        """Makes messages of a task ready that has no limit any more."""
        if task not in self.open and task not in self.at_once:
            for held in self.entries.values():
                if held.place is Place.PARKED and held.task == task:
                    held.place = Place.READY

    def next_in_line(self) -> int:
        self.line += 1
        return self.line

    def copies(self, name: str) -> list[str]:
        return [found for found in self.entries if found == name or found.startswith(f"{name}#")]

    def claim(self, limit: int, free: int) -> list[str]:
        """What a claim returns; what it comes by and may not take is parked."""
        taken: list[str] = []
        limited = 0
        line = sorted((held.step, held.order, name) for name, held in self.entries.items() if held.place in LINE)
        for _, _, name in line:
            held = self.entries[name]
            task = held.task if held.task in self.open or held.task in self.at_once else None
            if held.place is Place.READY and len(taken) >= limit:
                continue
            if task and not (self.may_start(task) and limited < free):
                held.place = Place.PARKED
                continue
            if held.strikes >= 2 and taken:
                break
            taken.append(name)
            held.place, held.flies, held.done = Place.LEASED, held.task in self.at_once, False
            if task:
                self.open.update({task: False} if task in self.open else {})
                limited += 1
            if held.strikes >= 2:
                break
        return taken

    def forget(self, name: str) -> None:
        del self.entries[name]
        base, _, number = name.partition("#")
        if number and not any(found.startswith(f"{base}#") for found in self.entries):
            self.drawn.pop(base, None)

    def reap(self, max_strikes: int) -> list[Lease]:
        lost = []
        for name, held in list(self.entries.items()):
            if held.place is Place.LEASED and held.expired and held.done:
                self.forget(name)
            elif held.place is Place.LEASED and held.expired:
                held.strikes += 1
                held.redelivered = True
                held.lost = held.lost or held.token
                held.place = Place.DEAD if held.strikes >= max_strikes else Place.READY
                lost.append(Lease("q", "q", name, held.token))
        return lost


class Conservation(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        (client,) = _server
        client.flushall()
        self.queue = DelayQueue(client, "q", options=EngineOptions(max_strikes=4))
        self.model = Model()
        self.void: list[Lease] = []
        self.number = 0

    @initialize(most=st.integers(0, 2), ready=st.lists(TASKS, max_size=3))
    def begin(self, most: int, ready: list[str]) -> None:
        """Hypothesis leaves some rules out of each walk: what the others need is there all the same."""
        for task in ("shop.a", "shop.b"):
            self.limit_at_once(task, most)
        for number, task in enumerate(ready):
            self.schedule(f"id{number}", 0, False, Mode.NEW, task)

    @rule(name=IDS, step=STEPS, later=st.booleans(), mode=st.sampled_from(Mode), task=TASKS)
    def schedule(self, name: str, step: int, later: bool, mode: Mode, task: str) -> None:
        self.number += 1
        token = f"<{self.number}>"
        payload = b'{"headers":{"task":"%s"},"body":"%s"}' % (task.encode(), token.encode())

        (answer,) = self.queue.schedule(
            [Entry(name, FAR if later else 0, payload, step, publish_token=token)], mode=mode
        )

        if name in self.model.entries:
            expected = {Mode.NEW: "copied", Mode.REPLACE: "replaced", Mode.IF_ABSENT: "exists"}[mode]
        else:
            expected = "added"
        assert answer.outcome == expected
        if expected == "exists":
            return
        if expected == "copied":
            self.model.drawn[name] = self.model.drawn.get(name, 0) + 1
            name = f"{name}#{self.model.drawn[name]}"
        assert answer.id == name
        self._void(name)
        place = Place.WAITING if later else Place.READY
        self.model.entries[name] = Held(place, step, self.model.next_in_line(), payload, task=task)

    @precondition(lambda self: self.model.entries)
    @rule(data=st.data())
    def publish_again(self, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(self.model.entries)))
        payload = self.model.entries[name].payload
        token = "<" + payload.decode().partition("<")[2].partition('"')[0]
        again = Entry(name.partition("#")[0], payload=payload, publish_token=token)

        assert self.queue.schedule([again])[0].outcome == "repeated"

    @rule(task=TASKS, is_limited=st.booleans())
    def limit(self, task: str, is_limited: bool) -> None:
        set_limits(self.queue, SET, {task: ONCE if is_limited else None})

        if is_limited:
            self.model.open.setdefault(task, True)
            return
        self.model.open.pop(task, None)
        self.model.unpark(task)

    @rule(task=TASKS, most=st.integers(0, 2))
    def limit_at_once(self, task: str, most: int) -> None:
        set_limits(self.queue, SET_AT_ONCE, {task: Limit(most) if most else None})

        if most:
            self.model.at_once[task] = most
            return
        self.model.at_once.pop(task, None)
        self.model.unpark(task)

    @rule(limit=st.integers(0, 4), free=st.integers(0, 3), lost=st.booleans(), task=TASKS)
    def claim(self, limit: int, free: int, lost: bool, task: str) -> None:
        if not self._in(*LINE):  # half of all walks would claim nothing at all
            self.schedule("id0", 0, False, Mode.NEW, task)
        self.void += self.model.reap(self.queue.options.max_strikes)
        expected = self.model.claim(limit, free) if limit or (free and (self.model.open or self.model.at_once)) else []

        claim = self.queue.claim(limit, free=free, lease_ms=0 if lost else None)

        assert [entry.id for entry in claim.entries] == expected
        for entry in claim.entries:
            held = self.model.entries[entry.id]
            assert (entry.payload, entry.strikes, entry.redelivered) == (held.payload, held.strikes, held.redelivered)
            held.place, held.token, held.expired = Place.LEASED, entry.token, lost

    @precondition(lambda self: self._in(Place.LEASED) or self.void)
    @rule(
        data=st.data(),
        verb=st.sampled_from(["acknowledge", "release", "delay", "extend", "bury", "strike", "start"]),
        delivered=st.booleans(),
    )
    def finish(self, data: Any, verb: str, delivered: bool) -> None:
        held = [
            Lease("q", "q", name, entry.token)
            for name, entry in self.model.entries.items()
            if entry.place is Place.LEASED
        ]
        lease = data.draw(st.sampled_from(held + self.void[-5:]))
        valid = lease in held
        entry = self.model.entries.get(lease.id)

        match verb:
            case "acknowledge":
                # A holder that lost its lease ends its message too, but never a later one of the same id.
                is_late = not valid and entry is not None and 0 < entry.lost <= lease.token
                # Where another holds it, and it counts, it ends with that lease.
                is_kept = is_late and entry is not None and entry.place is Place.LEASED and entry.flies
                ends = (valid or is_late) and not is_kept
                assert self.queue.acknowledge([lease]) == ends
                if is_kept and entry:
                    entry.done = True
                elif ends:
                    self._void(lease.id)
                    self.model.forget(lease.id)
            case "release" | "delay":
                delay_ms = 10**9 if verb == "delay" else 0
                assert self.queue.release([lease], delay_ms=delay_ms, delivered=delivered) == valid
                if valid and entry and entry.done:
                    self._void(lease.id)
                    self.model.forget(lease.id)
                elif valid and entry:
                    self.void.append(lease)
                    entry.redelivered = entry.redelivered or delivered
                    entry.place = Place.WAITING if verb == "delay" else Place.READY
            case "extend":
                assert self.queue.extend([lease]) == ({lease.id} if valid else set())
                if valid and entry:
                    entry.expired = False
            case "bury":
                assert self.queue.bury([lease], reason="because") == valid
                if valid and entry and entry.done:
                    self._void(lease.id)
                    self.model.forget(lease.id)
                elif valid and entry:
                    self.void.append(lease)
                    entry.place = Place.DEAD
            case "start":
                started = valid and entry is not None and entry.flies
                assert start(self.queue, [lease]) == started
                if started and entry:
                    entry.done = True
            case "strike":
                is_kept = valid and entry is not None and entry.done
                assert sum(self.queue.strike([lease], why="because")) == (valid and not is_kept)
                if is_kept:
                    self._void(lease.id)
                    self.model.forget(lease.id)
                elif valid and entry:
                    self.void.append(lease)
                    entry.strikes += 1
                    entry.redelivered = True
                    entry.lost = entry.lost or entry.token
                    dies = entry.strikes >= self.queue.options.max_strikes
                    entry.place = Place.DEAD if dies else Place.READY

    @precondition(lambda self: self.model.entries)
    @rule()
    def reap(self) -> None:
        self.void += self.model.reap(self.queue.options.max_strikes)
        self.queue.reap()

    @precondition(lambda self: self.model.entries)
    @rule(name=IDS)
    def cancel(self, name: str) -> None:
        gone = [found for found in self.model.copies(name) if self.model.entries[found].place is not Place.LEASED]

        assert self.queue.cancel([name]) == [len(gone)]

        for found in gone:
            self.model.forget(found)

    @precondition(lambda self: self.model.entries)
    @rule(name=IDS, later=st.booleans())
    def reschedule(self, name: str, later: bool) -> None:
        places = [self.model.entries[found].place for found in self.model.copies(name)]
        moved = [
            found for found in sorted(self.model.copies(name)) if self.model.entries[found].place is not Place.LEASED
        ]
        expected = "moved" if moved else "leased" if places else "absent"

        assert self.queue.reschedule([name], due_ms=FAR if later else 0) == [expected]

        for found in sorted(moved, key=lambda copy: int(copy.partition("#")[2] or 0)):
            held = self.model.entries[found]
            if held.place is Place.DEAD:
                held.step, held.strikes, held.redelivered, held.lost = 0, 0, False, 0
            held.place = Place.WAITING if later else Place.READY
            held.order = self.model.next_in_line()

    @precondition(lambda self: self.model.entries)
    @rule(name=IDS)
    def redrive(self, name: str) -> None:
        held = self.model.entries.get(name)
        dead = held is not None and held.place is Place.DEAD

        assert self.queue.redrive([name]) == dead

        if dead and held:
            held.place, held.step, held.strikes, held.order = Place.READY, 0, 0, self.model.next_in_line()
            held.redelivered, held.lost = False, 0

    @precondition(lambda self: len(self.model.entries) > 3)  # seldom, for it ends whatever else was begun
    @rule()
    def purge(self) -> None:
        gone = [name for name, held in self.model.entries.items() if held.place in (Place.WAITING, *LINE)]

        assert self.queue.purge() == len(gone)

        for name in gone:
            del self.model.entries[name]
        self.model.drawn.clear()
        for name in self.model.entries:
            base, _, number = name.partition("#")
            if number:
                self.model.drawn[base] = max(self.model.drawn.get(base, 0), int(number))

    @invariant()
    def every_id_is_in_one_place_and_has_its_payload(self) -> None:
        found = [(listed.id, place) for place in Place for listed in self.queue.list(place, limit=1000)]
        payloads = self.queue.client.hgetall(self.queue.keys.payload)

        assert sorted(found) == sorted((name, held.place) for name, held in self.model.entries.items())
        assert {name.decode() for name in payloads} == set(self.model.entries)
        leased = {name for name, held in self.model.entries.items() if held.place is Place.LEASED}
        assert {name.decode() for name in self.queue.client.hkeys(self.queue.keys.holder)} == leased
        struck = {name.decode() for name in self.queue.client.hkeys(self.queue.keys.strikes)}
        assert struck == {name for name, held in self.model.entries.items() if held.redelivered}
        parked = Counter(held.task for held in self.model.entries.values() if held.place is Place.PARKED)
        assert parked_counts(self.queue) == dict(parked)
        assert self.queue.count().parked == parked.total()
        assert flying_counts(self.queue) == dict(self.model.flying())
        assert not self.queue.client.exists(self.queue.keys.healed)
        lost = {name.decode(): int(token) for name, token in self.queue.client.hgetall(self.queue.keys.lost).items()}
        assert lost == {name: held.lost for name, held in self.model.entries.items() if held.lost}

    def _in(self, *places: Place) -> list[tuple[str, Held]]:
        return [(name, held) for name, held in self.model.entries.items() if held.place in places]

    def _void(self, name: str) -> None:
        held = self.model.entries.get(name)
        if held and held.place is Place.LEASED:
            self.void.append(Lease("q", "q", name, held.token))


TestConservation = Conservation.TestCase
TestConservation.settings = settings(
    max_examples=examples(30), stateful_step_count=60, deadline=None, phases=[Phase.reuse, Phase.generate]
)
