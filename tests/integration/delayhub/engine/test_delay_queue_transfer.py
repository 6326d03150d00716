"""Moving messages to another queue, and looking for one by its id."""

from __future__ import annotations

import pytest
import redis

from delayhub.engine import Counts, DelayQueue, EngineOptions, Entry, Place
from tests.fixture_types import Now


@pytest.fixture
def other(redis_client: redis.Redis, queue: DelayQueue) -> DelayQueue:
    return DelayQueue(redis_client, "other", options=EngineOptions(key_prefix=queue.options.key_prefix))


def test_a_message_keeps_its_time_and_priority_in_another_queue(
    queue: DelayQueue, other: DelayQueue, now_ms: Now
) -> None:
    later = now_ms() + 60_000
    queue.schedule([Entry("waits", later, b"1", step=2), Entry("ready", 0, b"2", step=3)])

    answers = queue.transfer({"waits": (b"1", b"one"), "ready": (b"2", b"two")}, to=other)

    assert answers == ["moved", "moved"]
    assert queue.count() == Counts(0, 0, 0, 0)
    [waits], [ready] = other.list("waiting", payloads=True), other.list("ready", payloads=True)
    assert (waits.id, waits.at_ms, waits.step, waits.payload) == ("waits", later, 2, b"one")
    assert (ready.id, ready.step, ready.payload) == ("ready", 3, b"two")


def test_what_a_consumer_holds_and_what_has_changed_stays(queue: DelayQueue, other: DelayQueue) -> None:
    queue.schedule([Entry("held", payload=b"1"), Entry("changed", payload=b"new")])
    queue.claim(1)

    answers = queue.transfer({"held": (b"1", b"1"), "changed": (b"old", b"old"), "gone": (b"", b"")}, to=other)

    assert answers == ["leased", "absent", "absent"]
    assert other.count() == Counts(0, 0, 0, 0)
    assert [entry.payload for entry in queue.claim().entries] == [b"new"]


def test_a_dead_message_is_ready_in_the_other_queue_without_its_strikes(queue: DelayQueue, other: DelayQueue) -> None:
    queue.schedule([Entry("a", payload=b"1")])
    [entry] = queue.claim().entries
    queue.bury([queue.lease("a", entry.token)], reason="why")

    queue.transfer({"a": (b"1", b"1")}, to=other)

    assert queue.count() == Counts(0, 0, 0, 0)
    assert [(one.id, one.strikes, one.redelivered) for one in other.claim().entries] == [("a", 0, False)]


def test_copies_move_one_by_one_and_none_replaces_another(
    queue: DelayQueue, other: DelayQueue, redis_client: redis.Redis
) -> None:
    queue.schedule([Entry("same", payload=b"1"), Entry("same", payload=b"2")])
    other.schedule([Entry("same", payload=b"0")])

    answers = queue.transfer({"same": (b"1", b"1"), "same#1": (b"2", b"2")}, to=other)

    assert answers == ["moved", "moved"]
    assert [(listed.id, listed.payload) for listed in other.list("ready", payloads=True)] == [
        ("same", b"0"),
        ("same#1", b"1"),
        ("same#2", b"2"),
    ]
    assert other.cancel(["same"]) == [3]
    assert [key for key in redis_client.scan_iter() if key.startswith(queue.keys.base.encode())] == []


def test_an_id_is_found_wherever_it_is_with_its_copies(queue: DelayQueue, now_ms: Now) -> None:
    later = now_ms() + 60_000
    queue.schedule([Entry("a", payload=b"held")])
    queue.claim()
    queue.schedule([Entry("a", later, b"waits", step=4), Entry("a", payload=b"ready", step=3)])

    found = queue.look("a")

    assert {place: [(one.id, one.step, one.payload) for one in listed] for place, listed in found.items()} == {
        Place.WAITING: [("a#1", 4, b"waits")],
        Place.LEASED: [("a", 0, b"held")],
        Place.READY: [("a#2", 3, b"ready")],
    }
    assert found[Place.WAITING][0].at_ms == later
    assert abs(found[Place.READY][0].at_ms - now_ms()) < 10_000


def test_a_dead_id_is_found_with_its_reason(queue: DelayQueue) -> None:
    queue.schedule([Entry("a", payload=b"1")])
    [entry] = queue.claim().entries
    queue.bury([queue.lease("a", entry.token)], reason="why")

    assert [(one.id, one.reason) for one in queue.look("a")[Place.DEAD]] == [("a", "why")]
    assert queue.look("b") == {}
