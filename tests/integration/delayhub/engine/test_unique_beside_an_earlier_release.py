"""Unique keys on a queue on which workers of the release before them work, too."""

from __future__ import annotations

import pytest

from delayhub.engine import Counts, DelayQueue, Entry
from delayhub.engine.unique import UniqueKey, WhenTaken, offer, start
from tests import earlier_release

pytestmark = pytest.mark.heals


def put(queue: DelayQueue, name: str, key: str = "k", *, mode: str = "refuse") -> str:
    unique = UniqueKey(key=key, when_taken=WhenTaken(mode))
    return offer(queue, Entry(name, payload=b"<%s>" % name.encode()), unique).outcome


def taken(queue: DelayQueue) -> list[str]:
    return [entry.id for entry in queue.claim(100).entries]


def test_what_an_earlier_release_ended_leaves_nothing(queue: DelayQueue) -> None:
    for number in range(20):
        put(queue, f"m{number}", f"k{number}")
    put(queue, "follower", "k0", mode="replace")
    put(queue, "last", "k1", mode="wait")
    earlier_release.end(queue, "last", *(f"m{number}" for number in range(20)))

    for _ in range(300):
        for entry in queue.claim(1).entries:
            queue.acknowledge([queue.lease(entry.id, entry.token)])

    assert queue.client.exists(queue.keys.unique, queue.keys.followers) == 0
    assert sum(queue.count()) == 0


def test_what_waits_for_a_key_has_it_soon_after_an_earlier_release_ended_its_message(queue: DelayQueue) -> None:
    put(queue, "a")
    put(queue, "b", mode="wait")
    earlier_release.end(queue, "a")

    found: list[str] = []
    for _ in range(100):
        found += taken(queue)

    assert found == ["b"]


def test_what_a_purge_of_an_earlier_release_leaves_of_those_that_wait_is_removed(queue: DelayQueue) -> None:
    put(queue, "a")
    leases = [queue.lease(entry.id, entry.token) for entry in queue.claim(1).entries]
    for name in ("b", "c", "d"):
        put(queue, name, mode="replace" if name == "d" else "wait")
    earlier_release.end(queue, "b", "c", "d")

    for _ in range(200):
        queue.claim(1)

    assert queue.client.zcard(queue.keys.followers) == 0
    assert queue.acknowledge(leases) == 1
    assert queue.client.exists(queue.keys.unique) == 0


def test_a_retry_is_not_taken_for_its_task_that_had_started_before(queue: DelayQueue) -> None:
    put(queue, "a")
    (entry,) = queue.claim(1).entries
    assert start(queue, [queue.lease("a", entry.token)]) == 1
    earlier_release.reap(queue, queue.lease("a", entry.token))  # its worker was killed
    earlier_release.claim(queue, "a")
    earlier_release.end(queue, "a")
    put(queue, "a")  # the retry of the one that ran then

    earlier_release.claim(queue, "a")
    queue.client.zadd(queue.keys.leased, {"a": 0})  # and that worker is killed before it starts
    queue.reap()

    assert queue.stored(["a"])
    assert queue.count().ready == 1


def test_a_task_that_runs_is_gone_with_its_lease_and_not_with_that_of_a_later_claim(queue: DelayQueue) -> None:
    put(queue, "a")
    (entry,) = queue.claim(1).entries
    assert start(queue, [queue.lease("a", entry.token)]) == 1

    queue.client.zadd(queue.keys.leased, {"a": 0})
    queue.reap()

    assert not queue.stored(["a"])
    assert queue.client.exists(queue.keys.unique, queue.keys.flying) == 0


def test_one_that_waits_for_its_key_is_in_one_place_though_an_earlier_release_has_taken_it(queue: DelayQueue) -> None:
    put(queue, "a")
    put(queue, "b", mode="wait")
    earlier_release.promote(queue, "b")

    assert queue.reschedule(["b"], due_ms=0) == ["moved"]
    assert queue.count() == Counts(waiting=0, ready=2, leased=0, dead=0)
    lease = earlier_release.claim(queue, "b")
    assert queue.reschedule(["b"], due_ms=0) == ["leased"]
    assert queue.count() == Counts(waiting=0, ready=1, leased=1, dead=0)
    assert queue.acknowledge([lease]) == 1
    assert queue.count() == Counts(waiting=0, ready=1, leased=0, dead=0)


def test_one_that_an_earlier_release_has_taken_is_not_replaced_while_it_runs(queue: DelayQueue) -> None:
    put(queue, "a")
    held = earlier_release.claim(queue, "a")
    assert put(queue, "b", mode="replace") == "follows"
    earlier_release.promote(queue, "b")
    lease = earlier_release.claim(queue, "b")

    assert put(queue, "c", mode="replace") == "follows"

    assert queue.stored(["b"])
    assert queue.acknowledge([held, lease]) == 2
    assert taken(queue) == ["c"]
