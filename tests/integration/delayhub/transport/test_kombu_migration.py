"""Messages that kombu's own Redis transport left behind come over, and ours go back; none is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from threading import Thread
from typing import Any

import pytest
import redis
from kombu import Connection, Exchange, Producer, Queue

from delayhub.engine import Counts, Entry, Listed, Place
from delayhub.errors import ImportRunning
from delayhub.local.redis_server import RedisServer
from delayhub.transport import kombu_migration
from delayhub.transport.channel import Channel
from delayhub.transport.envelope import Unreadable
from delayhub.transport.kombu_migration import KombuBroker, KombuCounts, entry_of, raw_of
from tests.fixture_types import Stored

DUE = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def old(redis_server: RedisServer, redis_client: redis.Redis) -> Iterator[Any]:
    """A connection of kombu's own transport to the same Redis."""
    with Connection(redis_server.url) as opened:
        yield opened


@pytest.fixture
def ours(connection: Any) -> Channel:
    channel: Channel = connection.default_channel
    return channel


def test_what_waits_in_lists_is_counted_and_moved_in_its_order(old: Any, ours: Channel) -> None:
    for number, priority in enumerate((3, 0, 3)):
        Producer(old.default_channel).publish(number, routing_key="q", priority=priority)
    broker = KombuBroker(old.default_channel)

    assert broker.count(["q", "other"]) == KombuCounts(3, 0)
    assert broker.move(["q"], ours, held=True) == 3
    assert broker.count(["q"]) == KombuCounts(0, 0)
    assert [ours.basic_get("q", no_ack=True).payload for _ in range(3)] == [1, 0, 2]


def test_what_a_consumer_holds_comes_over_with_its_eta(old: Any, ours: Channel, stored: Stored) -> None:
    headers = {"id": "t", "task": "t", "eta": DUE.isoformat()}
    Producer(old.default_channel).publish([], routing_key="q", headers=headers)
    held = old.default_channel.basic_get("q")
    broker = KombuBroker(old.default_channel)

    assert broker.count(["q"]) == KombuCounts(0, 1)
    assert broker.move(["q"], ours, held=True) == 1

    (waiting,) = stored("q").list("waiting")
    assert (waiting.id, waiting.at_ms) == ("t", DUE.timestamp() * 1000)
    assert broker.count(["q"]).total == 0
    held.channel.qos._delivered.clear()  # its consumer is gone: nothing goes back when the connection ends


@pytest.mark.parametrize(("kind", "bound"), [("topic", "feed.#"), ("direct", "feed.import")])
def test_what_a_consumer_holds_goes_to_the_queues_of_its_exchange(
    old: Any, ours: Channel, stored: Stored, redis_server: RedisServer, kind: str, bound: str
) -> None:
    exchange = Exchange("tasks", kind)
    Queue("feeds", exchange, routing_key=bound)(old.default_channel).declare()
    Producer(old.default_channel, exchange, routing_key="feed.import").publish([1])
    held = old.default_channel.basic_get("feeds")

    with Connection(redis_server.url) as other:  # which has not declared the exchange
        assert KombuBroker(other.default_channel).move([], ours, held=True) == 1

    assert stored("feeds").count().ready == 1
    held.channel.qos._delivered.clear()


def test_what_a_consumer_holds_and_no_queue_is_bound_for_stays(
    old: Any, ours: Channel, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    exchange = Exchange("tasks", "topic")
    Queue("feeds", exchange, routing_key="feed.#")(old.default_channel).declare()
    Producer(old.default_channel, exchange, routing_key="feed.import").publish([1])
    held = old.default_channel.basic_get("feeds")
    redis_client.delete("_kombu.binding.tasks")
    broker = KombuBroker(old.default_channel)

    assert broker.move([], ours, held=True) == 0
    assert broker.count([]) == KombuCounts(0, 1)
    assert "feed.import" in caplog.text
    held.ack()


def test_a_message_that_cannot_be_read_comes_over_as_it_is(
    old: Any, ours: Channel, redis_client: redis.Redis, stored: Stored
) -> None:
    redis_client.lpush("q", b"not json")

    assert KombuBroker(old.default_channel).move(["q"], ours, held=True) == 1

    (ready,) = stored("q").list("ready", payloads=True)
    assert ready.payload == b"not json"


def test_more_than_one_page_is_moved_both_ways(
    old: Any, ours: Channel, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kombu_migration, "BATCH", 10)
    for number in range(35):
        Producer(old.default_channel).publish(number, routing_key="q")
    broker = KombuBroker(old.default_channel)

    assert broker.move(["q"], ours, held=True) == 35
    assert stored("q").count() == Counts(0, 35, 0, 0)
    assert broker.take_back(["q"], ours) == 35
    assert stored("q").count() == Counts(0, 0, 0, 0)
    taken = [old.default_channel.basic_get("q", no_ack=True).payload for _ in range(35)]
    assert taken == list(range(35))


def test_each_message_goes_to_one_side_when_a_live_worker_takes_from_the_same_list(
    old: Any, ours: Channel, redis_server: RedisServer, stored: Stored
) -> None:
    for number in range(600):
        Producer(old.default_channel).publish(number, routing_key="q")
    taken: list[int] = []

    def take() -> None:
        with Connection(redis_server.url) as other:
            while (message := other.default_channel.basic_get("q", no_ack=True)) is not None:
                taken.append(message.payload)

    worker = Thread(target=take)
    worker.start()
    moved = KombuBroker(old.default_channel).move(["q"], ours, held=False)
    worker.join(60)

    came_over = [ours.basic_get("q", no_ack=True).payload for _ in range(stored("q").count().ready)]
    assert len(came_over) == moved
    assert sorted(taken + came_over) == list(range(600))


def test_what_consumers_hold_stays_theirs_unless_it_is_asked_for(old: Any, ours: Channel) -> None:
    for number in range(2):
        Producer(old.default_channel).publish(number, routing_key="q")
    held = old.default_channel.basic_get("q")
    broker = KombuBroker(old.default_channel)

    assert broker.move(["q"], ours, held=False) == 1
    assert broker.count(["q"]) == KombuCounts(0, 1)
    held.ack()


def test_what_an_interrupted_import_took_comes_over_with_the_next(
    old: Any, ours: Channel, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        Producer(old.default_channel).publish(number, routing_key="q")
    broker = KombuBroker(old.default_channel)

    def cut(*_: Any) -> None:
        raise ConnectionError("cut")

    with monkeypatch.context() as patch, pytest.raises(ConnectionError):
        patch.setattr(broker, "_store", cut)
        broker.move(["q"], ours, held=False)

    assert broker.count(["q"]) == KombuCounts(3, 0)
    assert broker.move(["q"], ours, held=False) == 3
    assert [ours.basic_get("q", no_ack=True).payload for _ in range(3)] == [0, 1, 2]


def test_two_imports_at_once_are_refused(old: Any, ours: Channel, redis_client: redis.Redis) -> None:
    Producer(old.default_channel).publish(1, routing_key="q")
    redis_client.set("delayhub:moving", "another", px=60_000)

    with pytest.raises(ImportRunning):
        KombuBroker(old.default_channel).move(["q"], ours, held=False)


def test_bound_queues_are_found_behind_a_prefix_and_without_those_of_remote_control(
    redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    redis_client.sadd("other_kombu.binding.x", "x\x06\x16\x06\x16other")
    redis_client.sadd("sh*p:_kombu.binding.reply.celery.pidbox", "x\x06\x16\x06\x16x.reply.celery.pidbox")
    with Connection(redis_server.url, transport_options={"global_keyprefix": "sh*p:"}) as connection:
        queue = Queue("reports", Exchange("many"), routing_key="r")
        Producer(connection.default_channel).publish("x", exchange=queue.exchange, routing_key="r", declare=[queue])
        broker = KombuBroker(connection.default_channel)

        assert broker.bound_queues() == {"reports"}


def test_a_search_for_bound_queues_ends_after_the_keys_it_may_look_at(
    old: Any, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kombu_migration, "SCANNED", 10)
    redis_client.mset({f"key-{number}": "" for number in range(2000)})
    scans = redis_client.info("commandstats").get("cmdstat_scan", {}).get("calls", 0)

    KombuBroker(old.default_channel).bound_queues(most_keys=30)

    assert redis_client.info("commandstats")["cmdstat_scan"]["calls"] - scans == 3


def test_a_message_that_waits_goes_back_with_its_eta(old: Any, ours: Channel) -> None:
    headers = {"id": "t", "task": "t", "eta": DUE.isoformat()}
    Producer(ours).publish([], routing_key="q", headers=headers)

    assert KombuBroker(old.default_channel).take_back(["q"], ours) == 1

    assert old.default_channel.basic_get("q", no_ack=True).headers["eta"] == DUE.isoformat()


def test_a_message_that_was_delivered_before_goes_back_with_that_mark(old: Any, ours: Channel) -> None:
    Producer(ours).publish("again", routing_key="q", headers={"id": "t", "task": "t"})
    ours.basic_get("q").requeue()

    assert KombuBroker(old.default_channel).take_back(["q"], ours) == 1

    assert old.default_channel.basic_get("q", no_ack=True).delivery_info["redelivered"] is True


def test_what_a_killed_worker_held_goes_back_after_its_lease(old: Any, ours: Channel, stored: Stored) -> None:
    for number in range(3):
        Producer(ours).publish(number, routing_key="q", headers={"id": f"t{number}", "task": "t"})
    stored("q").claim(1, lease_ms=60_000)
    stored("q").claim(2, lease_ms=0)

    assert KombuBroker(old.default_channel).take_back(["q"], ours) == 2

    assert stored("q").count() == Counts(0, 0, 1, 0)
    back = [old.default_channel.basic_get("q", no_ack=True) for _ in range(2)]
    assert [(message.payload, message.delivery_info["redelivered"]) for message in back] == [(1, True), (2, True)]


def test_what_is_unreadable_stays_and_holds_up_nothing(old: Any, ours: Channel, stored: Stored) -> None:
    stored("q").schedule([Entry("broken", payload=b"?")])
    Producer(ours).publish("good", routing_key="q")

    assert KombuBroker(old.default_channel).take_back(["q"], ours) == 1

    assert [listed.id for listed in stored("q").list("ready")] == ["broken"]
    assert old.default_channel.basic_get("q", no_ack=True).payload == "good"


def test_a_payload_that_is_no_message_has_no_form_for_kombu(ours: Channel) -> None:
    with pytest.raises(Unreadable):
        raw_of(Listed("t", 0, 0, 0, None, b"?"), Place.READY)
    assert entry_of(b"?", ours).payload == b"?"
