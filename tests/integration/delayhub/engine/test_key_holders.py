"""Unique keys as people look at them: who has each, where that message is, and how many there are."""

from __future__ import annotations

import pytest
import redis

from delayhub.celery_support.task_limits import declare
from delayhub.engine import DelayQueue, Entry, Place
from delayhub.engine.key_holders import LOOKED_AT, have_keys, look_at_keys, search_keys
from delayhub.engine.limits import Limit
from delayhub.engine.queue_slots import QueueSlots
from delayhub.engine.spread_queue import SpreadQueue
from delayhub.engine.unique import UniqueKey, Until, WhenTaken, free_key, offer
from tests.redis_time import redis_now_ms

FAR_MS = 4_000_000_000_000


def put(queue: DelayQueue, name: str, key: str, *, due_ms: int = 0, **of_key: object) -> None:
    """Offers a message with a key; a taken one is waited for."""
    options = {"when_taken": WhenTaken.WAIT, **of_key}
    offer(queue, Entry(name, due_ms, b"<payload>"), UniqueKey(key=key, **options))  # type: ignore[arg-type]  # as the tests give them


def test_each_holder_is_shown_where_it_is(queue: DelayQueue) -> None:
    put(queue, "run", "k-leased")
    leased = queue.claim(10, lease_ms=60_000).entries
    put(queue, "wait", "k-waiting", due_ms=FAR_MS, until=Until.START)
    put(queue, "line", "k-ready")
    put(queue, "timed", "k-timed", until=Until.TIME, milliseconds=60_000, when_taken=WhenTaken.REFUSE)

    look = look_at_keys(queue, limit=10)

    assert [entry.id for entry in leased] == ["run"]
    rows = {one.key: one for one in look.found}
    assert {key: (one.id, one.place, one.until) for key, one in rows.items()} == {
        "k-leased": ("run", Place.LEASED, Until.END),
        "k-waiting": ("wait", Place.WAITING, Until.START),
        "k-ready": ("line", Place.READY, Until.END),
        "k-timed": ("timed", Place.READY, Until.TIME),
    }
    assert rows["k-waiting"].at_ms == FAR_MS
    now_ms = redis_now_ms(queue.client)
    assert now_ms < (rows["k-leased"].at_ms or 0) <= now_ms + 60_000
    assert now_ms - 10_000 < (rows["k-ready"].at_ms or 0) <= now_ms
    assert now_ms < (rows["k-timed"].till_ms or 0) <= now_ms + 60_000
    assert (look.total, look.is_whole) == (4, True)


def test_one_that_a_limit_holds_back_is_parked(queue: DelayQueue) -> None:
    declare(queue, {}, {"shop.a": Limit(1)})
    payload = b'{"headers":{"task":"shop.a"},"properties":{}}'
    for name in ("a", "b"):
        offer(queue, Entry(name, 0, payload), UniqueKey(key=f"k-{name}"))
    queue.claim(10, lease_ms=60_000)

    assert [(one.key, one.place) for one in look_at_keys(queue, limit=10).found] == [
        ("k-a", Place.LEASED),
        ("k-b", Place.PARKED),
    ]


def test_a_timed_key_whose_message_is_done_has_no_place(queue: DelayQueue) -> None:
    put(queue, "a", "k", until=Until.TIME, milliseconds=60_000)
    queue.acknowledge([queue.lease(entry.id, entry.token) for entry in queue.claim(1).entries])

    (found,) = look_at_keys(queue, limit=10).found

    assert (found.id, found.place, found.at_ms) == ("a", None, None)


def test_keys_with_most_that_wait_come_first_also_behind_many(queue: DelayQueue) -> None:
    queue.client.hset(queue.keys.unique, mapping={f"key:n{number:06}": "gone" for number in range(20_000)})
    for name, key in (("a", "zz"), ("b", "zz"), ("c", "zz"), ("d", "yy"), ("e", "yy")):
        put(queue, name, key)

    look = look_at_keys(queue, limit=2)

    assert [(one.key, one.id, one.following) for one in look.found] == [("zz", "a", 2), ("yy", "d", 1)]
    assert not look.is_whole
    assert 18_000 < look.total < 22_000  # most fields of this hash are keys


def test_what_is_read_does_not_grow_with_the_queue(queue: DelayQueue) -> None:
    for number in range(LOOKED_AT):
        put(queue, f"m{number}", f"key-{number}")
    before = calls(queue.client)

    look = look_at_keys(queue, limit=50)

    assert len(look.found) == 50
    assert abs(look.total - LOOKED_AT) < LOOKED_AT // 5
    after = calls(queue.client)
    assert after["hscan"] - before.get("hscan", 0) == 1
    assert after.get("hmget", 0) - before.get("hmget", 0) == 1  # of what is shown, and no payloads
    assert after["hexists"] - before.get("hexists", 0) <= 50 + 5  # scripts ask too


def calls(client: redis.Redis) -> dict[str, int]:
    stats = client.info("commandstats")
    return {name.removeprefix("cmdstat_"): found["calls"] for name, found in stats.items()}


def test_an_expired_holder_is_told_from_others(queue: DelayQueue) -> None:
    put(queue, "a", "k", due_ms=FAR_MS, expires_ms=1)

    (found,) = look_at_keys(queue, limit=10).found

    assert found.has_expired


def test_a_key_whose_message_a_worker_of_old_has_ended_is_left_out(queue: DelayQueue) -> None:
    put(queue, "a", "k")
    queue.client.hdel(queue.keys.payload, "a")

    assert look_at_keys(queue, limit=10) == ([], 0, True)


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ("order:7", ["order:7", "order:77"]),  # the whole key first
        ("ORDER", ["order:7", "order:77", "timed-order"]),
        ("m-77", ["order:77"]),  # the id of its message
        ("m-timed", ["timed-order"]),
        ("a*b", ["a*b[c"]),  # no pattern
        ("b[c", ["a*b[c"]),
        ("o?der", []),
    ],
)
def test_keys_are_found_by_a_part_or_their_message(queue: DelayQueue, wanted: str, keys: list[str]) -> None:
    put(queue, "m-77", "order:77")
    put(queue, "m-7", "order:7")
    put(queue, "m-star", "a*b[c")
    put(queue, "m-timed", "timed-order", until=Until.TIME, milliseconds=60_000)

    look = search_keys(queue, wanted, by_text=True, limit=10)

    assert sorted(one.key for one in look.found) == keys
    assert [one.key for one in look.found][:1] == keys[:1] or wanted == "ORDER"
    assert look.is_whole


def test_without_the_right_to_keys_only_the_message_finds_one(queue: DelayQueue) -> None:
    put(queue, "m-7", "order:7")
    put(queue, "m-timed", "timed-order", until=Until.TIME, milliseconds=60_000)

    def found(wanted: str) -> list[str]:
        return [one.id for one in search_keys(queue, wanted, by_text=False, limit=10).found]

    assert [found(wanted) for wanted in ("order:7", "order", "timed-order")] == [[], [], []]
    assert [found(wanted) for wanted in ("m-7", "m-timed")] == [["m-7"], ["m-timed"]]


def test_a_search_ends_when_enough_was_found(queue: DelayQueue) -> None:
    for number in range(20):
        put(queue, f"m{number}", f"key-{number}")

    look = search_keys(queue, "key-", by_text=True, limit=5)

    assert (len(look.found), look.is_whole) == (5, False)


def test_a_message_that_waits_for_a_key_has_none(queue: DelayQueue) -> None:
    put(queue, "a", "k")
    put(queue, "b", "k")

    assert [one.key for one in search_keys(queue, "a", by_text=False, limit=10).found] == ["k"]
    assert search_keys(queue, "b", by_text=False, limit=10).found == []


def test_all_slots_of_a_queue_are_looked_at(cluster_client: redis.Redis) -> None:
    queue = SpreadQueue(cluster_client, "q", slots=QueueSlots(8, 8))
    assert not have_keys(queue)
    for number in range(40):
        put(queue, f"m{number}", f"order:{number}")
        put(queue, f"n{number}", f"order:{number}")

    look = look_at_keys(queue, limit=100)
    one = search_keys(queue, "order:17", by_text=True, limit=10)

    assert have_keys(queue)
    assert {found.key for found in look.found} == {f"order:{number}" for number in range(40)}
    assert [found.following for found in look.found] == [1] * 40
    assert (look.total, look.is_whole) == (40, True)
    assert [(found.key, found.id) for found in one.found] == [("order:17", "m17")]
    assert sum(free_key(part, "order:17", holder="m17") for part in queue.parts) == 1
    assert [found.key for found in search_keys(queue, "n17", by_text=False, limit=10).found] == ["order:17"]
