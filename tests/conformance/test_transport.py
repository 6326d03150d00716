"""What a kombu transport must do, on kombu's memory and Redis transports and on ours."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from kombu import Connection, Consumer, Exchange, Producer, Queue

from tests.celery_versions import needs_batches
from tests.consuming import drain

Bodies = list[Any]


def receive(connection: Any, queue: Any, count: int, **options: Any) -> list[Any]:
    """That many messages of a queue, acknowledged unless no_ack."""
    messages: list[Any] = []

    def on_message(message: Any) -> None:
        messages.append(message)
        if not options.get("no_ack"):
            message.ack()

    with connection.channel() as channel:
        with Consumer(channel, [queue], on_message=on_message, **options):
            drain(connection, until=lambda: len(messages) >= count)
    return messages


def publish(connection: Any, queue: Queue, *bodies: Any, **options: Any) -> None:
    with connection.channel() as channel:
        producer = Producer(channel)
        for body in bodies:
            producer.publish(body, exchange=queue.exchange, routing_key=queue.routing_key, declare=[queue], **options)


def queue_of(name: str, **options: Any) -> Queue:
    return Queue(name, Exchange(name, type="direct"), routing_key=name, **options)


def test_messages_come_in_the_order_they_were_published(connection: Any, name: str) -> None:
    publish(connection, queue_of(name), *range(50))

    assert [message.payload for message in receive(connection, queue_of(name), 50)] == list(range(50))


def test_headers_properties_and_bodies_arrive_as_they_were(connection: Any, name: str) -> None:
    publish(connection, queue_of(name), {"text": "☃"}, headers={"h": 1}, correlation_id="c-1")
    publish(connection, queue_of(name), b"\x00\xff", content_type="application/octet-stream", content_encoding="binary")

    first, second = receive(connection, queue_of(name), 2)

    assert (first.payload, first.headers["h"], first.properties["correlation_id"]) == ({"text": "☃"}, 1, "c-1")
    assert second.body == b"\x00\xff"


def test_a_rejected_message_comes_again_and_a_dropped_one_does_not(connection: Any, name: str) -> None:
    publish(connection, queue_of(name), "again", "never")
    seen: Bodies = []

    def on_message(message: Any) -> None:
        seen.append(message.payload)
        if message.payload == "never":
            message.reject()
        elif seen.count("again") == 1:
            message.requeue()
        else:
            message.ack()

    with connection.channel() as channel, Consumer(channel, [queue_of(name)], on_message=on_message):
        drain(connection, until=lambda: seen.count("again") == 2 and "never" in seen)

    with connection.channel() as channel:
        assert channel.queue_declare(name, passive=False).message_count == 0


@pytest.mark.parametrize("scheme", ["redis", "delayhub", "delayhub-cluster"], indirect=True)
def test_what_was_not_acknowledged_comes_again_when_the_connection_is_closed(broker: str, name: str) -> None:
    with Connection(broker) as first:
        publish(first, queue_of(name), "one", "two")
        held: Bodies = []
        channel = first.channel()
        Consumer(channel, [queue_of(name)], on_message=held.append).consume()
        drain(first, until=lambda: len(held) == 2)

    with Connection(broker) as second:
        assert {message.payload for message in receive(second, queue_of(name), 2)} == {"one", "two"}


def test_prefetch_bounds_what_a_consumer_holds(connection: Any, name: str) -> None:
    publish(connection, queue_of(name), *range(10))
    held: Bodies = []
    with connection.channel() as channel:
        consumer = Consumer(channel, [queue_of(name)], on_message=held.append)
        consumer.qos(prefetch_count=3)
        with consumer:
            drain(connection, until=lambda: len(held) >= 3)
            with pytest.raises(TimeoutError):
                connection.drain_events(timeout=0.3)

            assert [message.payload for message in held] == [0, 1, 2]
            held[0].ack()
            drain(connection, until=lambda: len(held) >= 4)
        for message in held[1:]:
            message.ack()


def test_a_consumer_without_acknowledgement_leaves_nothing_behind(broker: str, name: str) -> None:
    with Connection(broker) as first:
        publish(first, queue_of(name), "x")
        assert len(receive(first, queue_of(name), 1, no_ack=True)) == 1

    with Connection(broker) as second, second.channel() as channel:
        assert channel.basic_get(name) is None


def test_a_topic_exchange_routes_by_pattern(connection: Any, name: str) -> None:
    exchange = Exchange(f"{name}-topic", type="topic")
    wide = Queue(f"{name}-wide", exchange, routing_key="order.#")
    narrow = Queue(f"{name}-narrow", exchange, routing_key="order.*.paid")
    with connection.channel() as channel:
        producer = Producer(channel, exchange=exchange)
        for key in ("order.eu.paid", "order.eu", "stock.eu"):
            producer.publish(key, routing_key=key, declare=[wide, narrow])

    assert [message.payload for message in receive(connection, wide, 2)] == ["order.eu.paid", "order.eu"]
    assert [message.payload for message in receive(connection, narrow, 1)] == ["order.eu.paid"]


def test_a_fanout_exchange_reaches_every_consumer(connection: Any, name: str) -> None:
    exchange = Exchange(f"{name}-fanout", type="fanout")
    queues = [Queue(f"{name}-{n}", exchange, exclusive=True, auto_delete=True) for n in range(2)]
    heard: Bodies = []
    with connection.channel() as one, connection.channel() as two:
        consumers = [
            Consumer(channel, [queue], on_message=heard.append, no_ack=True)
            for channel, queue in zip((one, two), queues, strict=True)
        ]
        for consumer in consumers:
            consumer.consume()
        for _ in consumers:
            with suppress(TimeoutError):
                connection.drain_events(timeout=0.3)  # subscribes
        with connection.channel() as channel:
            Producer(channel).publish("all", exchange=exchange)
        drain(connection, until=lambda: len(heard) >= 2)

    assert [message.payload for message in heard] == ["all", "all"]


def test_purge_empties_a_queue_and_counts(connection: Any, name: str) -> None:
    publish(connection, queue_of(name), 1, 2, 3)

    with connection.channel() as channel:
        assert channel.queue_declare(name).message_count == 3
        assert channel.queue_purge(name) == 3
        assert channel.basic_get(name) is None


def test_a_deleted_queue_is_empty_when_it_is_declared_again(connection: Any, name: str) -> None:
    publish(connection, queue_of(name), 1)

    with connection.channel() as channel:
        queue_of(name)(channel).declare()
        channel.queue_delete(name)
        queue_of(name)(channel).declare()
        assert channel.basic_get(name) is None


def test_get_takes_one_message_at_a_time(connection: Any, name: str) -> None:
    publish(connection, queue_of(name), "one", "two")

    with connection.channel() as channel:
        first = channel.basic_get(name)
        second = channel.basic_get(name)
        assert [channel.message_to_python(found).payload for found in (first, second)] == ["one", "two"]
        assert channel.basic_get(name) is None
        first.ack()
        second.ack()


def test_a_simple_queue_is_first_in_first_out(connection: Any, name: str) -> None:
    simple = connection.SimpleQueue(name)
    for body in ("a", "b", "c"):
        simple.put(body)

    taken = []
    for _ in range(3):
        message = simple.get(timeout=60)
        taken.append(message.payload)
        message.ack()

    assert taken == ["a", "b", "c"]
    with pytest.raises(simple.Empty):
        simple.get(timeout=0.2)
    simple.close()


def test_a_simple_buffer_loses_nothing_that_was_not_asked_for(broker: str, name: str) -> None:
    with Connection(broker) as connection:
        buffer = connection.SimpleBuffer(name)
        for body in ("a", "b", "c"):
            buffer.put(body)
        assert buffer.get(timeout=60).payload == "a"
        buffer.close()

    with Connection(broker) as connection:
        buffer = connection.SimpleBuffer(name)
        # One that was fetched ahead and given back goes to the end of the line.
        assert sorted(buffer.get(timeout=60).payload for _ in range(2)) == ["b", "c"]
        buffer.close()


def test_draining_an_empty_queue_ends_at_the_timeout(connection: Any, name: str) -> None:
    with connection.channel() as channel, Consumer(channel, [queue_of(name)], on_message=lambda message: None):
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=0.2)


@pytest.mark.parametrize("scheme", ["redis", "delayhub", "delayhub-cluster"], indirect=True)
def test_a_lower_priority_number_goes_first(connection: Any, name: str) -> None:
    for priority in (9, 0, 5, 3):
        publish(connection, queue_of(name), priority, priority=priority)

    # 3 and 5 are of one step, so they keep their order
    assert [message.payload for message in receive(connection, queue_of(name), 4)] == [0, 5, 3, 9]


@needs_batches
@pytest.mark.parametrize("scheme", ["redis", "delayhub", "delayhub-cluster"], indirect=True)
def test_a_batch_of_publishes_arrives_whole_and_in_order(connection: Any, name: str) -> None:
    queue = queue_of(name)
    with connection.channel() as channel:
        queue(channel).declare()
        producer = Producer(channel)
        with producer.batch(max_size=20):
            for number in range(50):
                producer.publish(number, exchange=queue.exchange, routing_key=name)

    assert [message.payload for message in receive(connection, queue, 50)] == list(range(50))
