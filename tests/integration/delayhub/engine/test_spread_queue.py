"""A queue in several slots of a cluster: every verb finds what is in any of them.

Through it: ``queue_slots``.
"""

from __future__ import annotations

from typing import Any

import pytest
import redis

from delayhub.engine import Counts, DelayQueue, EngineOptions, Entry, Place
from delayhub.engine.limits import SET, Limit, parked_counts, set_limits
from delayhub.engine.queue_slots import QueueSlots, ask_slots
from delayhub.engine.spread_queue import SpreadQueue, find_queue
from delayhub.redis_cluster import ClusterClient, QueuesApart

OPTIONS = EngineOptions()
IDS = [f"id-{number:02}" for number in range(40)]


@pytest.fixture
def queue(cluster_client: redis.Redis) -> DelayQueue:
    """A queue of four slots."""
    ask_slots(cluster_client, "q", QueueSlots(), prefix="", number=4)
    found = find_queue(cluster_client, "q", options=OPTIONS)
    assert isinstance(found, SpreadQueue)
    return found


def entries(ids: list[str], *, due_ms: int = 0, step: int = 0, task: str = "shop.close") -> list[Entry]:
    text = '{"headers":{"task":"%s"},"id":"%s"}'
    return [Entry(each, due_ms, (text % (task, each)).encode(), step) for each in ids]


def test_messages_are_spread_and_each_verb_finds_them_all(queue: DelayQueue) -> None:
    stored = queue.schedule(entries(IDS))
    waiting = queue.schedule(entries(["later-1", "later-2"], due_ms=4_000_000_000_000))

    assert [each.id for each in stored + waiting] == [*IDS, "later-1", "later-2"]
    assert all(part.count().ready for part in queue.parts)
    assert queue.count() == Counts(2, 40, 0, 0)
    assert queue.reschedule(["later-1", "none"], due_ms=3_900_000_000_000) == ["moved", "absent"]
    assert [listed.id for listed in queue.list(Place.WAITING)] == ["later-1", "later-2"]
    assert list(queue.look("id-07")) == [Place.READY]
    assert len(queue.payloads(["id-07"])["id-07"]) == 1
    assert queue.cancel(["id-07", "later-2", "none"], tombstone_ms=1000) == [1, 1, 0]
    assert queue.discard(["id-08", "none"]) == 1
    assert queue.purge() == 39
    assert queue.count() == Counts(0, 0, 0, 0)


def test_what_is_asked_of_ids_goes_to_the_slots_of_a_node_together(
    queue: DelayQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.schedule(entries(IDS))
    queue.schedule(entries(IDS[:1]))
    with_copies = queue.payloads(IDS[:2])
    exchange, writes = ClusterClient._exchange, list[int]()

    def noting(client: ClusterClient, node: Any, connection: Any, commands: Any) -> list[Any]:
        writes.append(len(commands))
        return exchange(client, node, connection, commands)

    monkeypatch.setattr(ClusterClient, "_exchange", noting)

    assert queue.count().ready == 41
    assert len(writes) == 3
    assert queue.cancel(IDS[1:3]) == [1, 1]
    assert len(writes) == 9
    assert [len(with_copies[each]) for each in IDS[:2]] == [2, 1]
    assert queue.cancel(IDS[:1]) == [2]


def test_a_list_has_the_order_of_a_queue_and_payloads_where_they_are_wanted(queue: DelayQueue) -> None:
    for number, entry_id in enumerate(IDS):
        queue.schedule(entries([entry_id], step=number % 2))

    pages = [queue.list(Place.READY, offset=offset, limit=15, payloads=True) for offset in (0, 15, 30)]

    listed = [each for page in pages for each in page]
    assert {each.id for each in listed[:20]} == set(IDS[::2])
    assert {each.id for each in listed[20:]} == set(IDS[1::2])
    assert [(each.step, each.at_ms) for each in listed] == sorted((each.step, each.at_ms) for each in listed)
    assert all(each.payload and each.id.encode() in each.payload for each in listed)


def test_what_is_claimed_of_any_slot_ends_there(queue: DelayQueue) -> None:
    queue.schedule(entries(IDS))
    leases = [part.lease(entry.id, entry.token) for part in queue.parts for entry in part.claim(100).entries]

    assert queue.extend(leases) == set(IDS)
    assert queue.bury(leases[:3], reason="no use") == 3
    assert queue.release(leases[3:5]) == 2
    assert queue.strike(leases[5:7], why="lost").returned == 2
    assert queue.acknowledge(leases[7:]) == 33
    assert queue.redrive(limit=2) == 2
    assert queue.count() == Counts(0, 6, 0, 1)
    assert len(queue.claim(100).entries) > 0


def test_a_limit_holds_messages_of_all_slots_back(queue: DelayQueue) -> None:
    set_limits(queue, SET, {"shop.close": Limit(60_000_000, "1/m")})
    for part in queue.parts:
        part.schedule(entries([f"{part.lane}-{number}" for number in range(2)]))
        part.claim(100)

    assert parked_counts(queue) == {"shop.close": 4}


def test_growing_and_shrinking_leaves_nothing_behind(cluster_client: redis.Redis, queue: DelayQueue) -> None:
    queue.schedule(entries(IDS))
    fewer = ask_slots(cluster_client, "q", QueueSlots(), prefix="", number=2)
    more = ask_slots(cluster_client, "q", QueueSlots(), prefix="", number=8)

    found = find_queue(cluster_client, "q", options=OPTIONS)

    assert (fewer, more) == (QueueSlots(2, 4), QueueSlots(8, 8))
    assert found.count().ready == 40


def test_who_knows_of_more_slots_than_redis_says_so(cluster_client: redis.Redis, queue: DelayQueue) -> None:
    cluster_client.unlink(queue.lane_keys.queue_slots)  # as where its node fails and its replica had not got it

    said = ask_slots(cluster_client, "q", QueueSlots(2, 4), prefix="")

    assert said == QueueSlots(2, 4)
    assert ask_slots(cluster_client, "q", QueueSlots(), prefix="") == said


def test_no_message_moves_to_another_queue(cluster_client: redis.Redis, queue: DelayQueue) -> None:
    with pytest.raises(QueuesApart):
        queue.transfer({"id-01": (b"", b"")}, to=DelayQueue(cluster_client, "other"))


def test_a_deleted_queue_has_no_slots(cluster_client: redis.Redis, queue: DelayQueue) -> None:
    queue.schedule(entries(IDS))

    queue.delete()

    assert not isinstance(find_queue(cluster_client, "q", options=OPTIONS), SpreadQueue)
    assert sum(part.count().ready for part in queue.parts) == 0
