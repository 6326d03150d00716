"""Limits of tasks: what they hold back is parked, and everything finds it there."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from delayhub.celery_support.task_limits import declare
from delayhub.engine import Counts, DelayQueue, Entry, Lease, Mode, Place
from delayhub.engine.claim import Limits
from delayhub.engine.limits import (
    DECLARED,
    DECLARED_AT_ONCE,
    SET,
    SET_AT_ONCE,
    Limit,
    flying_counts,
    limit_key,
    parked_counts,
    read_limits,
    set_limits,
)
from delayhub.engine.unique import start
from delayhub.errors import OptionError
from tests.fixture_types import Until
from tests.waiting import wait_until

#: A limit that lets one start, and no other while a test runs.
ONCE = Limit(10**13)


def message(name: str, task: str = "shop.mail", *, step: int = 0, due_ms: int = 0) -> Entry:
    """An entry as the transport makes it."""
    return Entry(name, due_ms, b'{"headers":{"task":"%s"},"body":"%s"}' % (task.encode(), name.encode()), step)


def taken(queue: DelayQueue, limit: int = 100, *, free: int | None = None) -> list[str]:
    """The ids of a claim."""
    return [entry.id for entry in queue.claim(limit, free=free).entries]


@pytest.fixture
def held(queue: DelayQueue) -> DelayQueue:
    """A queue with three parked messages, ``b`` to ``d``, and one that is leased, ``a``."""
    set_limits(queue, DECLARED, {"shop.mail": ONCE})
    queue.schedule([message(name) for name in "abcd"])
    assert taken(queue) == ["a"]
    assert queue.count() == Counts(0, 0, 1, 0, 3)
    return queue


def test_a_task_with_a_limit_is_parked_and_all_others_go_on(queue: DelayQueue, redis_client: redis.Redis) -> None:
    set_limits(queue, DECLARED, {"shop.mail": ONCE})
    queue.schedule([message("a"), message("b"), message("x", "shop.add"), message("c"), Entry("y", payload=b"plain")])

    claim = queue.claim(3)

    assert [(entry.id, entry.limited) for entry in claim.entries] == [("a", True), ("x", False), ("y", False)]
    assert claim.limits is Limits.IN_FORCE
    assert claim.come_back_ms is not None
    assert queue.count() == Counts(0, 0, 3, 0, 2)
    assert parked_counts(queue) == {"shop.mail": 2}
    assert claim.more is False


def test_what_reopens_goes_before_what_came_later(queue: DelayQueue, until: Until) -> None:
    set_limits(queue, DECLARED, {"shop.mail": Limit(400_000)})
    queue.schedule([message("a"), message("b"), message("late", step=3), message("urgent", step=0)])
    first = queue.claim(1)
    assert taken(queue) == []  # it parks the rest

    queue.schedule([message("x", "shop.add"), message("y", "shop.add", step=1)])
    reopens_ms = queue.claim(0).reopens_ms
    assert reopens_ms is not None
    assert reopens_ms > first.now_ms
    until(reopens_ms)

    claim = queue.claim(2)
    assert [entry.id for entry in claim.entries] == ["b", "x"]
    assert queue.count().parked == 2


def test_messages_with_a_limit_go_to_free_processes_only_and_beyond_the_credit(queue: DelayQueue) -> None:
    set_limits(queue, DECLARED, {"shop.mail": ONCE})
    queue.schedule([message("a"), message("x", "shop.add"), message("y", "shop.add")])

    busy = queue.claim(1, free=0)
    assert [entry.id for entry in busy.entries] == ["x"]
    assert busy.limits is Limits.HELD  # so that the consumer asks as soon as a process is free

    free = queue.claim(0, free=1)
    assert [entry.id for entry in free.entries] == ["a"]
    assert free.limits is Limits.IN_FORCE
    assert queue.count() == Counts(0, 1, 2, 0, 0)


def test_two_consumers_share_one_limit(held: DelayQueue, redis_client: redis.Redis) -> None:
    assert taken(DelayQueue(redis_client, "orders")) == []


@pytest.mark.parametrize("name", ["shop.mail", "shop.é", "a:b {c}"])
def test_names_of_all_kinds_can_have_limits(queue: DelayQueue, name: str) -> None:
    set_limits(queue, DECLARED, {name: ONCE})
    queue.schedule([Entry(one, payload=b'{"headers":{"task":"%s"}}' % limit_key(name).encode()) for one in "ab"])

    assert taken(queue) == ["a"]
    assert parked_counts(queue) == {name: 1}
    assert read_limits(queue).declared == {name: ONCE}


@pytest.mark.parametrize("name", ["", 'say "hi"'])
def test_names_that_cannot_be_told_from_the_rest_of_a_payload_are_refused(name: str) -> None:
    with pytest.raises(OptionError):
        limit_key(name)


def test_what_is_set_wins_over_what_is_declared_until_it_is_taken_back(held: DelayQueue) -> None:
    set_limits(held, SET, {"shop.mail": Limit(0, "off")})
    set_limits(held, DECLARED, {"shop.mail": ONCE})
    assert taken(held, 1) == ["b"]

    set_limits(held, SET, {"shop.mail": None})

    assert taken(held) == ["c"]  # a limit that is new lets one start
    assert read_limits(held) == ({"shop.mail": ONCE}, {}, {}, {})
    assert parked_counts(held) == {"shop.mail": 1}


def test_what_was_parked_is_in_its_place_again_without_the_limit(held: DelayQueue) -> None:
    held.schedule([message("x", "shop.add")])

    set_limits(held, DECLARED, {"shop.mail": None})

    assert held.count() == Counts(0, 4, 1, 0, 0)
    assert taken(held) == ["b", "c", "d", "x"]
    assert not held.client.exists(held.keys.limits, held.keys.limited, held.keys.open, held.keys.shut, held.keys.parked)


def test_more_than_a_call_moves_is_moved_by_several(queue: DelayQueue) -> None:
    set_limits(queue, DECLARED, {"shop.mail": ONCE})
    queue.schedule([message(str(number)) for number in range(2_500)])
    assert len(taken(queue)) == 1
    assert 0 < queue.count().parked < 500  # no call keeps Redis busy for long
    while queue.claim().more:
        pass
    assert queue.count().parked == 2_499

    set_limits(queue, DECLARED, {"shop.mail": None})

    assert queue.count() == Counts(0, 2_499, 1, 0, 0)


def test_parked_messages_can_be_looked_at(held: DelayQueue) -> None:
    listed = held.list(Place.PARKED, offset=1, payloads=True)

    assert [(one.id, one.step, one.payload) for one in listed] == [
        (name, 0, message(name).payload) for name in ("c", "d")
    ]
    assert held.look("c") == {Place.PARKED: [listed[0]]}


def test_parked_messages_can_be_cancelled_moved_and_transferred(held: DelayQueue, redis_client: redis.Redis) -> None:
    other = DelayQueue(redis_client, "other")
    payload = message("d").payload

    assert held.cancel(["b"]) == [1]
    assert held.reschedule(["c"], due_ms=4_000_000_000_000) == ["moved"]
    assert held.transfer({"d": (payload, payload)}, to=other) == ["moved"]

    assert held.count() == Counts(1, 0, 1, 0, 0)
    assert other.count() == Counts(0, 1, 0, 0, 0)
    assert held.parking_tasks() == []


def test_who_lost_its_lease_ends_a_message_that_is_parked_by_now(queue: DelayQueue) -> None:
    queue.schedule([message("a"), message("b")])
    lost = queue.claim(1, lease_ms=0).entries[0]
    set_limits(queue, DECLARED, {"shop.mail": ONCE})
    assert taken(queue, free=0) == []
    assert queue.count() == Counts(0, 0, 0, 0, 2)

    assert queue.acknowledge([queue.lease("a", lost.token)]) == 1

    assert [one.id for one in queue.list(Place.PARKED)] == ["b"]


@pytest.mark.parametrize("chunk", [1, 500], ids=["bit by bit", "at once"])
def test_parked_messages_are_purged(held: DelayQueue, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    held.schedule([message("x", "shop.add")])
    monkeypatch.setattr("delayhub.engine.delay_queue.CHUNK", chunk)

    assert held.purge() == 4

    assert held.count() == Counts(0, 0, 1, 0, 0)
    assert held.parking_tasks() == []


def test_nothing_of_a_deleted_queue_is_left(held: DelayQueue) -> None:
    held.delete()

    assert [key for key in held.client.scan_iter("*") if not key.endswith(b":@token")] == []


@pytest.mark.heals
@pytest.mark.parametrize("limit", [Limit(0), Limit(1)], ids=["none", "one that lets all start"])
def test_parked_ids_that_outlive_their_messages_do_nothing(
    held: DelayQueue, redis_client: redis.Redis, limit: Limit
) -> None:
    redis_client.hdel(held.keys.payload, "b", "c")  # as in a queue that expires while a claim parks these

    set_limits(held, SET, {"shop.mail": limit})

    wait_until(lambda: taken(held) == ["d"], otherwise="the one that is there")  # it reopens after a millisecond
    assert held.count() == Counts(0, 0, 2, 0, 0)


def test_a_queue_that_expires_takes_what_is_parked_with_it(held: DelayQueue, until: Until) -> None:
    held.expire(10)

    until(held.claim(0).now_ms + 20)

    assert [key for key in held.client.scan_iter("*") if b":@" not in key] == []


def test_a_limit_that_changes_holds_from_the_next_claim_on(held: DelayQueue) -> None:
    set_limits(held, DECLARED, {"shop.mail": Limit(1)})

    reopens = held.claim(1).reopens_ms

    assert reopens is None or reopens < 4_000_000_000_000
    assert held.count().parked in (2, 3)


@pytest.fixture
def flying(queue: DelayQueue) -> DelayQueue:
    """A queue that lets two of a task run at once: ``a`` and ``b`` do, ``c`` is parked."""
    set_limits(queue, DECLARED_AT_ONCE, {"shop.mail": Limit(2)})
    queue.schedule([message(name) for name in "abc"])
    assert taken(queue) == ["a", "b"]
    assert queue.count() == Counts(0, 0, 2, 0, 1)
    assert flying_counts(queue) == {"shop.mail": 2}
    return queue


def lease_of(queue: DelayQueue, name: str) -> Lease:
    """The lease of a message that some consumer has."""
    holder: Any = queue.client.hget(queue.keys.holder, name)
    return queue.lease(name, int(holder.split(b":")[0]))


@pytest.mark.parametrize("verb", ["acknowledge", "release", "bury", "strike", "run out", "replace"])
def test_another_one_starts_where_one_of_those_that_run_at_once_leaves_its_lease(
    flying: DelayQueue, redis_client: redis.Redis, verb: str
) -> None:
    bell = flying.lane_keys.wake
    redis_client.delete(bell)

    match verb:
        case "acknowledge":
            assert flying.acknowledge([lease_of(flying, "a")]) == 1
        case "release":
            flying.release([lease_of(flying, "a")], delay_ms=10**9)
        case "bury":
            flying.bury([lease_of(flying, "a")], reason="because")
        case "strike":
            flying.strike([lease_of(flying, "a")], why="because")
            flying.cancel(["a"])
        case "run out":
            flying.extend([lease_of(flying, "a")], lease_ms=0)
        case "replace":
            flying.schedule([message("a", "shop.add", due_ms=4_000_000_000_000)], mode=Mode.REPLACE)

    if verb in {"acknowledge", "release", "strike", "replace"}:
        assert redis_client.exists(bell)  # for another consumer, since this one may have no free process
    assert taken(flying) == (["a"] if verb == "run out" else ["c"])
    assert flying_counts(flying) == {"shop.mail": 2}
    assert taken(flying) == []


@pytest.mark.parametrize("verb", ["acknowledge", "run out", "run out and reaped", "strike"])
def test_a_task_that_was_acknowledged_when_it_started_keeps_its_place_and_is_never_given_out_again(
    flying: DelayQueue, redis_client: redis.Redis, verb: str
) -> None:
    lease, bell = lease_of(flying, "a"), flying.lane_keys.wake
    assert start(flying, [lease]) == start(flying, [lease]) == 1
    assert (flying.extend([lease]), flying_counts(flying), taken(flying)) == ({"a"}, {"shop.mail": 2}, [])
    assert flying.purge() == 1
    flying.schedule([message("d")])
    assert taken(flying) == []
    redis_client.delete(bell)

    match verb:
        case "acknowledge":
            assert flying.acknowledge([lease]) == 1
        case "strike":
            assert flying.strike([lease], why="because") == (0, 0)
        case _:  # its worker was killed
            flying.extend([lease], lease_ms=0)
    if verb == "run out and reaped":
        assert flying.reap() == (0, 0)

    assert bool(redis_client.exists(bell)) == (verb != "run out")
    assert taken(flying) == ["d"]
    assert flying_counts(flying) == {"shop.mail": 2}
    assert flying.count() == Counts(0, 0, 2, 0, 0)
    assert flying.acknowledge([lease_of(flying, name) for name in "bd"]) == 2
    assert not redis_client.exists(flying.keys.flying, flying.keys.at_once, flying.keys.payload)


def test_a_declaration_that_changes_nothing_leaves_what_was_started_before(queue: DelayQueue) -> None:
    declare(queue, {"shop.mail": "1/h"}, {"shop.mail": Limit(2)})
    queue.schedule([message("a"), message("b")])
    assert taken(queue) == ["a"]

    declare(queue, {"shop.mail": "1/h"}, {"shop.mail": Limit(2)})

    assert taken(queue) == []


def test_both_limits_of_a_task_hold(queue: DelayQueue) -> None:
    set_limits(queue, DECLARED_AT_ONCE, {"shop.mail": Limit(1), "shop.add": Limit(1)})
    set_limits(queue, DECLARED, {"shop.mail": ONCE})
    queue.schedule([message("a"), message("b"), message("x", "shop.add"), message("y", "shop.add")])
    first = queue.claim(10)
    assert [entry.id for entry in first.entries] == ["a", "x"]

    claim = queue.claim(10, acknowledged=[queue.lease(entry.id, entry.token) for entry in first.entries])

    assert [entry.id for entry in claim.entries] == ["y"]
    assert claim.reopens_ms is not None  # that of b


def test_what_is_set_of_those_that_run_at_once_wins_until_it_is_taken_back(flying: DelayQueue) -> None:
    flying.schedule([message("d"), message("e")])
    set_limits(flying, SET_AT_ONCE, {"shop.mail": Limit(3)})
    assert taken(flying) == ["c"]

    set_limits(flying, SET_AT_ONCE, {"shop.mail": Limit(1)})
    assert taken(flying, 10) == []
    set_limits(flying, SET_AT_ONCE, {"shop.mail": None})
    assert taken(flying) == []
    assert flying.acknowledge([lease_of(flying, name) for name in "ab"]) == 2
    assert taken(flying) == ["d"]

    set_limits(flying, SET_AT_ONCE, {"shop.mail": Limit(0)})
    assert taken(flying) == ["e"]


def test_a_claim_without_leases_counts_none_that_run(queue: DelayQueue) -> None:
    set_limits(queue, DECLARED_AT_ONCE, {"shop.mail": Limit(1)})
    queue.schedule([message("a"), message("b")])

    assert [entry.id for entry in queue.claim(10, no_ack=True).entries] == ["a", "b"]
    assert flying_counts(queue) == {}
