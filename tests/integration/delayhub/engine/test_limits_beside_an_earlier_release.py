"""Limits, flow keys and places in flight on a queue on which workers of the release before them work, too."""

from __future__ import annotations

import pytest

from delayhub.celery_support.task_limits import declare, set_at_once_for_all, set_for_all
from delayhub.engine import Counts, DelayQueue, Entry
from delayhub.engine.keys import QUEUE_PARTS
from delayhub.engine.limits import (
    DECLARED,
    DECLARED_AT_ONCE,
    SET,
    SET_AT_ONCE,
    Limit,
    flying_counts,
    set_limits,
)
from delayhub.engine.task_name import KEY_MARK
from delayhub.engine.unique import start
from tests import earlier_release

pytestmark = pytest.mark.heals

ONCE = Limit(10**13)
MAIL, EACH_KEY = "shop.mail", "shop.mail" + KEY_MARK


def message(name: str, key: str = "") -> Entry:
    header = b',"x-delayhub-key":"%s"' % key.encode() if key else b""
    return Entry(name, payload=b'{"headers":{"task":"shop.mail"%s},"body":"%s"}' % (header, name.encode()))


def taken(queue: DelayQueue, limit: int = 100, *, free: int | None = None) -> list[str]:
    return [entry.id for entry in queue.claim(limit, free=free).entries]


def kept(queue: DelayQueue) -> set[str]:
    """What there is of the queue beside its limits, and how much was put right."""
    found = {key.decode().removeprefix(queue.keys.base) for key in queue.client.keys(queue.keys.base + ":*")}
    return found - {QUEUE_PARTS["LIMITS"], QUEUE_PARTS["LIMITED"], QUEUE_PARTS["HEALED"]}


def parked_keys(queue: DelayQueue, count: int) -> None:
    """Parks a message of each of so many flow keys, which may start."""
    set_limits(queue, DECLARED_AT_ONCE, {EACH_KEY: Limit(1)})
    queue.schedule([message(f"m{number}", f"k{number}") for number in range(count)])
    while queue.count().ready:
        assert taken(queue, free=0) == []


def test_turns_of_keys_that_an_earlier_release_emptied_are_removed(queue: DelayQueue) -> None:
    parked_keys(queue, 3)
    for number in range(3):
        earlier_release.take_parked(queue, f"shop.mail\\u0000k{number}")
    assert queue.client.zcard(queue.keys.turns) == 3

    assert taken(queue) == []

    assert kept(queue) == set()


def test_turns_of_thousands_of_emptied_keys_are_removed_some_at_a_time(queue: DelayQueue) -> None:
    parked_keys(queue, 3)
    queue.client.zadd(queue.keys.turns, {f"shop.mail\\u0000gone{number}": 0 for number in range(3000)})

    assert taken(queue, 1) == ["m0"]

    assert 2000 < queue.client.zcard(queue.keys.turns) < 3003
    assert sorted(taken(queue)) == ["m1", "m2"]


def test_places_are_free_again_that_an_earlier_release_has_not_freed_though_the_limit_is_gone(
    queue: DelayQueue,
) -> None:
    set_limits(queue, SET_AT_ONCE, {MAIL: Limit(5), EACH_KEY: Limit(5)})
    queue.schedule([message("a", "k"), message("b"), message("c")])
    leases = [queue.lease(entry.id, entry.token) for entry in queue.claim(3).entries]
    for lease in leases:
        earlier_release.reap(queue, lease)
        earlier_release.claim(queue, lease.id)
    earlier_release.end(queue, "a", "b", "c")
    set_limits(queue, SET_AT_ONCE, {MAIL: None, EACH_KEY: None})

    for _ in range(3):
        assert taken(queue) == []

    assert flying_counts(queue) == {}
    assert kept(queue) == set()


@pytest.mark.parametrize("lifted", [True, False])
def test_a_retry_is_not_taken_for_its_task_that_had_started_before(queue: DelayQueue, *, lifted: bool) -> None:
    set_limits(queue, SET_AT_ONCE, {MAIL: Limit(500)})
    queue.schedule([message(f"other{number}") for number in range(400)])  # so that it is not looked at by chance
    assert len(taken(queue, 400)) == 400
    queue.schedule([message("a")])
    (entry,) = queue.claim(1).entries
    assert start(queue, [queue.lease("a", entry.token)]) == 1
    earlier_release.reap(queue, queue.lease("a", entry.token))  # its worker was killed
    earlier_release.claim(queue, "a")
    earlier_release.end(queue, "a")
    queue.schedule([message("a")])
    if lifted:
        set_limits(queue, SET_AT_ONCE, {MAIL: None})
        assert taken(queue, 1) == ["a"]
    else:
        earlier_release.claim(queue, "a")

    queue.client.zadd(queue.keys.leased, {"a": 0})  # and that worker is killed before it starts
    queue.reap()

    assert queue.stored(["a"])
    assert queue.count().ready == 1


def test_a_limit_that_an_earlier_release_does_not_know_is_in_force_again(queue: DelayQueue) -> None:
    declare(queue, {MAIL: "10/s", EACH_KEY: None}, {MAIL: Limit(1), EACH_KEY: Limit(2)})
    before = queue.client.hgetall(queue.keys.limited)
    queue.client.hset(queue.keys.limited, MAIL, "100000:0")  # its worker started: it takes what it declares for all

    declare(queue, {MAIL: "10/s", EACH_KEY: None}, {MAIL: Limit(1), EACH_KEY: Limit(2)})

    assert queue.client.hgetall(queue.keys.limited) == before
    queue.client.delete(queue.keys.limited)
    declare(queue, {MAIL: "10/s", EACH_KEY: None}, {MAIL: Limit(1), EACH_KEY: Limit(2)})
    assert queue.client.hgetall(queue.keys.limited) == before


def test_a_limit_that_a_person_set_is_in_force_again(queue: DelayQueue) -> None:
    set_at_once_for_all([queue], MAIL, 3)
    set_for_all([queue], EACH_KEY, "1/s")
    before = queue.client.hgetall(queue.keys.limited)
    queue.client.delete(queue.keys.limited)

    declare(queue, {})

    assert queue.client.hgetall(queue.keys.limited) == before


def test_a_declaration_that_changes_nothing_leaves_what_was_started_before(queue: DelayQueue) -> None:
    declare(queue, {MAIL: "1/h"}, {MAIL: Limit(2)})
    set_limits(queue, SET, {"shop.other": ONCE})
    queue.schedule([message("a"), message("b")])
    assert taken(queue) == ["a"]

    declare(queue, {MAIL: "1/h"}, {MAIL: Limit(2)})

    assert taken(queue) == []
    assert set(queue.client.hkeys(queue.keys.limits)) >= {f"{DECLARED}:{MAIL}".encode()}


@pytest.mark.parametrize("place", ["waiting", "ready", "leased"])
def test_one_that_an_earlier_release_revoked_and_is_published_again_is_in_one_place(
    queue: DelayQueue, place: str
) -> None:
    set_limits(queue, SET_AT_ONCE, {EACH_KEY: Limit(1)})
    queue.schedule([message("a", "k")])
    assert taken(queue, free=0) == []
    queue.client.hdel(queue.keys.payload, "a")  # it looks for it among those of the task
    queue.schedule([Entry("a", 4_000_000_000_000 if place == "waiting" else 0, message("a", "k").payload)])
    held = [earlier_release.claim(queue, "a")] if place == "leased" else []

    found = queue.claim(100).entries

    assert [entry.id for entry in found] == (["a"] if place == "ready" else [])
    queue.acknowledge([*held, *(queue.lease(entry.id, entry.token) for entry in found)])
    assert taken(queue) == []
    assert queue.count() == Counts(waiting=1 if place == "waiting" else 0, ready=0, leased=0, dead=0, parked=0)
