"""What a queue that expires leaves: each key expires by itself, and one made after the last publish not at all."""

from __future__ import annotations

import pytest

from delayhub.engine import Counts, DelayQueue, Entry
from delayhub.engine.key_holders import look_at_keys
from delayhub.engine.limits import DECLARED_AT_ONCE, Limit, flying_counts, set_limits
from delayhub.engine.unique import UniqueKey, WhenTaken, offer
from tests.fixture_types import Until

pytestmark = pytest.mark.heals


def message(name: str, task: str = "shop.mail", *, due_ms: int = 0) -> Entry:
    """An entry as the transport makes it."""
    return Entry(name, due_ms, b'{"headers":{"task":"%s"},"body":"%s"}' % (task.encode(), name.encode()))


def taken(queue: DelayQueue, *, free: int | None = None) -> list[str]:
    """The ids of a claim."""
    return [entry.id for entry in queue.claim(100, free=free).entries]


def test_places_that_an_expired_queue_has_left_are_free(queue: DelayQueue, until: Until) -> None:
    queue.schedule([message("x", "shop.add")])
    assert taken(queue) == ["x"]
    queue.expire(50)
    set_limits(queue, DECLARED_AT_ONCE, {"shop.mail": Limit(1)})
    queue.schedule([message("a")])
    assert taken(queue) == ["a"]  # the queue had no places until now, so these have no end
    until(queue.claim(0).now_ms + 60)
    assert flying_counts(queue) == {"shop.mail": 1}
    queue.schedule([message("b")])

    (entry,) = queue.claim(100).entries
    assert (entry.id, flying_counts(queue)) == ("b", {"shop.mail": 1})
    assert queue.acknowledge([queue.lease("b", entry.token)]) == 1
    assert flying_counts(queue) == {}


@pytest.mark.parametrize("place", ["waiting", "ready", "leased"])
def test_a_parked_id_that_outlives_its_queue_is_in_one_place_once_it_is_published_again(
    queue: DelayQueue, place: str
) -> None:
    set_limits(queue, DECLARED_AT_ONCE, {"shop.mail": Limit(1)})
    queue.schedule([message("a")])
    assert taken(queue, free=0) == []
    queue.client.hdel(queue.keys.payload, "a")  # as in a queue that expires while a claim parks it
    queue.schedule([message("a", due_ms=4_000_000_000_000 if place == "waiting" else 0)])
    if place == "leased":
        queue.client.zrem(queue.keys.ready(0), "a")
        queue.client.zadd(queue.keys.leased, {"a": 4_000_000_000_000})

    assert taken(queue) == (["a"] if place == "ready" else [])
    assert queue.count() == Counts(place == "waiting", 0, place != "waiting", 0, 0)


def test_a_key_that_its_expired_queue_has_left_is_free(queue: DelayQueue, until: Until) -> None:
    queue.schedule([Entry("plain", payload=b"?")])
    queue.expire(50)
    offer(queue, Entry("a", payload=b"?"), UniqueKey(key="k"))  # keys that are made now have no end
    offer(queue, Entry("b", payload=b"?"), UniqueKey(key="k", when_taken=WhenTaken.WAIT))
    until(queue.claim(0).now_ms + 60)
    assert queue.stored(["a", "b"]) == {}

    assert look_at_keys(queue, limit=1000).found == []
    assert offer(queue, Entry("c", payload=b"?"), UniqueKey(key="k")).outcome == "added"
    assert [one.id for one in look_at_keys(queue, limit=1000).found] == ["c"]
