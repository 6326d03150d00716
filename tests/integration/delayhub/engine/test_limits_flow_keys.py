"""Limits of each flow key of a task: whose messages start, in which order, and that each is in one place."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import redis
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from delayhub.engine import Counts, DelayQueue, Entry, Place
from delayhub.engine.limits import (
    DECLARED,
    DECLARED_AT_ONCE,
    SET,
    SET_AT_ONCE,
    Limit,
    flying_counts,
    parked_counts,
    read_limits,
    set_limits,
)
from delayhub.engine.task_name import KEY_MARK, flow_key_of, head_of, parking_names, task_of
from delayhub.engine.unique import start
from tests.fixture_types import Until
from tests.property_sizes import examples

#: A limit that lets one start, and no other while a test runs.
ONCE = Limit(10**13)
MAIL, EACH_KEY = "shop.mail", "shop.mail" + KEY_MARK


def message(name: str, key: str = "", *, task: str = MAIL, step: int = 0, due_ms: int = 0) -> Entry:
    """An entry as the transport makes it."""
    header = b',"x-delayhub-key":"%s"' % key.encode() if key else b""
    return Entry(
        name, due_ms, b'{"headers":{"task":"%s"%s},"body":"%s"}' % (task.encode(), header, name.encode()), step
    )


def taken(queue: DelayQueue, limit: int = 100, *, free: int | None = None) -> list[str]:
    """The ids of a claim."""
    return [entry.id for entry in queue.claim(limit, free=free).entries]


def test_a_key_that_may_not_start_holds_up_no_other_key_and_no_other_message(queue: DelayQueue) -> None:
    set_limits(queue, DECLARED, {EACH_KEY: ONCE})
    queue.schedule([message("a1", "a"), message("a2", "a"), message("b1", "b"), message("n1"), message("n2")])
    queue.schedule([message("x", "a", task="shop.add"), message("a3", "a"), message("b2", "b")])

    claim = queue.claim(100)

    assert [(entry.id, entry.limited) for entry in claim.entries] == [
        ("a1", True),
        ("b1", True),
        ("n1", False),
        ("n2", False),
        ("x", False),
    ]
    assert queue.count() == Counts(0, 0, 5, 0, 3)
    assert parked_counts(queue) == {EACH_KEY + "a": 2, EACH_KEY + "b": 1}
    assert read_limits(queue).declared == {EACH_KEY: ONCE}
    assert [key.decode() for key in queue.client.hkeys(queue.keys.limited)] == [r"shop.mail\u0000"]


def test_the_rate_of_each_key_lets_the_next_start_in_its_order(queue: DelayQueue, until: Until) -> None:
    set_limits(queue, DECLARED, {EACH_KEY: Limit(400_000)})
    queue.schedule([message(name, name[0], step=int(name[1])) for name in ("a1", "b1", "a2", "a0", "b2")])
    assert taken(queue) == ["a0", "b1"]

    reopens_ms = queue.claim(0).reopens_ms
    assert reopens_ms is not None
    until(reopens_ms + 10)

    assert taken(queue) == ["a1", "b2"]
    assert taken(queue) == []
    arrival = queue.client.pttl(queue.keys.base + ":key:" + r"shop.mail\u0000a:tat")
    assert 0 < arrival < 5_000  # what is kept of a key ends by itself


def test_keys_that_may_start_take_turns(queue: DelayQueue) -> None:
    set_limits(queue, DECLARED_AT_ONCE, {EACH_KEY: Limit(100)})
    queue.schedule([message(f"a{number}", "a") for number in range(5)])
    queue.schedule([message("b0", "b"), message("b1", "b"), message("c0", "c")])
    assert taken(queue, free=0) == []
    assert queue.count().parked == 8

    assert [taken(queue, free=1) for _ in range(6)] == [["a0"], ["b0"], ["c0"], ["a1"], ["b1"], ["a2"]]
    assert flying_counts(queue) == {EACH_KEY + "a": 3, EACH_KEY + "b": 2, EACH_KEY + "c": 1}


def test_so_many_of_each_key_run_at_once(queue: DelayQueue) -> None:
    set_limits(queue, DECLARED_AT_ONCE, {EACH_KEY: Limit(1)})
    queue.schedule([message(name, name[0]) for name in ("a1", "a2", "b1", "b2")])
    first = queue.claim(10)
    assert [entry.id for entry in first.entries] == ["a1", "b1"]
    assert taken(queue) == []

    queue.acknowledge([queue.lease("a1", first.entries[0].token)])

    assert taken(queue) == ["a2"]
    assert flying_counts(queue) == {EACH_KEY + "a": 1, EACH_KEY + "b": 1}
    assert not queue.client.hexists(queue.keys.at_once, r"shop.mail\u0000c")


@pytest.mark.parametrize("is_early", [False, True])
def test_the_limit_of_the_task_holds_beside_that_of_each_key(queue: DelayQueue, *, is_early: bool) -> None:
    set_limits(queue, DECLARED_AT_ONCE, {MAIL: Limit(2), EACH_KEY: Limit(1)})
    queue.schedule([message(name, name[0]) for name in ("a1", "a2", "b1", "c1", "c2")])
    first = queue.claim(10)
    assert [entry.id for entry in first.entries] == ["a1", "b1"]
    assert flying_counts(queue) == {MAIL: 2, EACH_KEY + "a": 1, EACH_KEY + "b": 1}

    done, ids = list(first.entries), list[str]()
    while done:
        leases = [queue.lease(entry.id, entry.token) for entry in done]
        if is_early:  # acknowledged when they start; their worker is killed
            assert start(queue, leases) == len(leases)
            queue.extend(leases, lease_ms=0)
        else:
            queue.acknowledge(leases)
        done = list(queue.claim(10).entries)
        ids.append(" ".join(sorted(entry.id for entry in done)))

    assert ids == ["a2 c1", "c2", ""]
    assert queue.count() == Counts(0, 0, 0, 0, 0)
    assert flying_counts(queue) == {}


def test_no_permit_of_a_key_is_used_while_its_task_may_not_start(queue: DelayQueue) -> None:
    set_limits(queue, DECLARED, {MAIL: ONCE, EACH_KEY: ONCE})
    queue.schedule([message(name, name[0]) for name in ("a1", "b1", "b2", "a2")])
    assert taken(queue) == ["a1"]

    set_limits(queue, SET, {MAIL: Limit(0)})

    assert sorted(taken(queue) + taken(queue)) == ["b1"]
    assert parked_counts(queue) == {EACH_KEY + "a": 1, EACH_KEY + "b": 1}


def test_a_limit_that_is_set_or_lifted_holds_for_keys_that_wait(queue: DelayQueue) -> None:
    set_limits(queue, DECLARED, {EACH_KEY: ONCE})
    queue.schedule([message(name, name[0]) for name in ("a1", "a2", "a3", "b1", "b2")])
    assert taken(queue) == ["a1", "b1"]
    queue.client.delete(queue.lane_keys.wake)

    set_limits(queue, SET_AT_ONCE, {EACH_KEY: Limit(1)})
    assert taken(queue) == []
    set_limits(queue, SET, {EACH_KEY: Limit(0)})

    assert queue.client.exists(queue.lane_keys.wake)
    assert taken(queue) == ["a2", "b2"]  # those claimed before do not count among those that run
    set_limits(queue, SET_AT_ONCE, {EACH_KEY: None})
    assert queue.count() == Counts(0, 1, 4, 0, 0)  # ready for workers of any release
    assert taken(queue) == ["a3"]
    assert not queue.client.exists(queue.keys.open, queue.keys.shut, queue.keys.turns, queue.keys.parked)


def test_messages_parked_by_a_key_are_listed_found_moved_and_removed(
    queue: DelayQueue, redis_client: redis.Redis
) -> None:
    set_limits(queue, DECLARED, {EACH_KEY: ONCE})
    queue.schedule([message(f"a{number}", "a") for number in range(6)])
    assert taken(queue) == ["a0"]
    other, payload = DelayQueue(redis_client, "other"), message("a3", "a").payload

    assert [one.id for one in queue.list(Place.PARKED)] == ["a1", "a2", "a3", "a4", "a5"]
    assert list(queue.look("a2")) == [Place.PARKED]
    assert queue.cancel(["a1"]) == [1]
    assert queue.reschedule(["a2"], due_ms=4_000_000_000_000) == ["moved"]
    assert queue.transfer({"a3": (payload, payload)}, to=other) == ["moved"]
    assert queue.discard(["a4"]) == 1
    assert queue.count() == Counts(1, 0, 1, 0, 1)
    assert queue.purge() == 2
    assert queue.parking_tasks() == []
    assert not queue.client.exists(queue.keys.turns)


def test_a_key_is_read_from_the_beginning_of_a_message() -> None:
    payload = message("a", r"k\u00e9").payload

    assert (task_of(payload), flow_key_of(payload)) == (MAIL, r"k\u00e9")
    assert head_of(payload) == rb'{"headers":{"task":"shop.mail","x-delayhub-key":"k\u00e9"'
    assert parking_names(payload) == [r"shop.mail\u0000k\u00e9", MAIL]
    assert parking_names(b"plain") == []
    assert flow_key_of(message("a").payload) is None


@pytest.fixture(autouse=True)
def server(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Keyed, "client", redis_client)


class Keyed(RuleBasedStateMachine):
    """Random verbs over messages with flow keys: each is in one place, the limits hold, and in the end each has run."""

    client: redis.Redis = redis.Redis()

    def __init__(self) -> None:
        super().__init__()
        self.client.flushall()
        self.queue = DelayQueue(self.client, "q")
        self.number = 0
        self.keys: dict[str, str] = {}
        self.running: dict[str, int] = {}
        self.at_once: dict[str, int] = {}

    @rule(key=st.sampled_from(["", "a", "b", "c"]), step=st.integers(0, 2), later=st.booleans())
    def publish(self, key: str, step: int, later: bool) -> None:
        self.number += 1
        name = f"{key}{self.number}"
        self.queue.schedule([message(name, key, step=step, due_ms=4_000_000_000_000 if later else 0)])
        self.keys[name] = key

    @rule(each_key=st.booleans(), most=st.integers(0, 2))
    def limit(self, each_key: bool, most: int) -> None:
        name = EACH_KEY if each_key else MAIL
        set_limits(self.queue, SET_AT_ONCE, {name: Limit(most) if most else None})
        self.at_once[name] = most

    @rule(each_key=st.booleans(), microseconds=st.sampled_from([0, 1, 10**13]))
    def rate(self, each_key: bool, microseconds: int) -> None:
        set_limits(self.queue, SET, {EACH_KEY if each_key else MAIL: Limit(microseconds) if microseconds else None})

    @rule(limit=st.integers(0, 4), free=st.integers(0, 4))
    def claim(self, limit: int, free: int) -> None:
        before = flying_counts(self.queue)
        entries = self.queue.claim(limit, free=free).entries
        for entry in entries:
            self.running[entry.id] = entry.token
        after = flying_counts(self.queue)
        for name, count in after.items():
            most = self.at_once.get(EACH_KEY if KEY_MARK in name else MAIL, 0)
            assert count <= max(most, before.get(name, 0))

    @rule(data=st.data(), verb=st.sampled_from(["acknowledge", "release", "strike", "cancel", "reschedule"]))
    def act(self, data: Any, verb: str) -> None:
        if not self.keys:
            return
        name = data.draw(st.sampled_from(sorted(self.keys)))
        lease = [self.queue.lease(name, self.running[name])] if name in self.running else []
        match verb:
            case "acknowledge" if lease:
                assert self.queue.acknowledge(lease) == 1
                del self.keys[name], self.running[name]
            case "release" if lease:
                assert self.queue.release(lease) == 1
                del self.running[name]
            case "strike" if lease:
                self.queue.strike(lease, why="because")
                del self.running[name]
            case "cancel" if not lease:
                assert self.queue.cancel([name]) == [1]
                del self.keys[name]
            case "reschedule" if not lease:
                assert self.queue.reschedule([name], due_ms=0) == ["moved"]

    @invariant()
    def each_is_in_one_place(self) -> None:
        found = Counter(one.id for place in Place for one in self.queue.list(place, limit=1000))
        assert found == Counter(dict.fromkeys(self.keys, 1))
        parked = [one.id for one in self.queue.list(Place.PARKED, limit=1000)]
        assert self.queue.count().parked == len(parked) == sum(parked_counts(self.queue).values())
        client, keys = self.queue.client, self.queue.keys
        opened, shut = set(client.zrange(keys.open, 0, -1)), set(client.zrange(keys.shut, 0, -1))
        assert not opened & shut
        assert set(client.zrange(keys.turns, 0, -1)) == {name for name in opened if rb"\u0000" in name}

    def teardown(self) -> None:
        for name in (MAIL, EACH_KEY):
            set_limits(self.queue, SET, {name: None})
            set_limits(self.queue, SET_AT_ONCE, {name: None})
        self.queue.acknowledge([self.queue.lease(name, token) for name, token in self.running.items()])
        left = {one.id for place in (Place.READY, Place.PARKED) for one in self.queue.list(place, limit=1000)}
        ids: list[str] = []
        for _ in range(3 * len(left) + 3):
            ids += taken(self.queue)
        assert sorted(ids) == sorted(left)
        assert self.queue.count().parked == 0


TestKeyed = Keyed.TestCase
TestKeyed.settings = settings(
    max_examples=examples(12), stateful_step_count=40, deadline=None, phases=[Phase.reuse, Phase.generate]
)
