"""Each fault that a delayed transport on Redis was seen to have, and does not have here."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from kombu import Consumer, Exchange, Producer, Queue

from delayhub.engine import Counts, DelayQueue
from tests.consuming import drain, keep_payloads, take_all
from tests.fixture_types import Stored
from tests.integration.delayhub.transport.publishing import eta


def test_an_eta_delays_the_message_in_every_queue_of_an_exchange(connection: Any, stored: Stored) -> None:
    exchange = Exchange("both")
    queues = [Queue(name, exchange, routing_key="k") for name in ("one", "two")]
    headers = {"id": "t", "task": "t", "eta": eta(60)}

    with connection.channel() as channel:
        Producer(channel).publish([], exchange=exchange, routing_key="k", headers=headers, declare=queues)

    assert [stored(name).count() for name in ("one", "two")] == [Counts(1, 0, 0, 0)] * 2
    assert headers["eta"] is not None


def test_a_fanout_message_is_heard_that_was_sent_before_the_first_turn_of_the_loop(connection: Any) -> None:
    exchange = Exchange("all", type="fanout")
    heard: list[Any] = []
    with connection.channel() as channel:
        with Consumer(channel, [Queue("fanout-q", exchange, exclusive=True)], on_message=heard.append, no_ack=True):
            Producer(connection.channel()).publish("ping", exchange=exchange)

            drain(connection, until=lambda: bool(heard))

    assert [message.payload for message in heard] == ["ping"]


def test_a_fanout_message_keeps_its_eta(connection: Any) -> None:
    exchange = Exchange("all", type="fanout")
    heard: list[Any] = []
    with connection.channel() as channel, connection.channel() as other:
        with Consumer(channel, [Queue("fanout-q", exchange, exclusive=True)], on_message=heard.append, no_ack=True):
            when = eta(60)
            Producer(other).publish([], exchange=exchange, headers={"id": "t", "eta": when})
            drain(connection, until=lambda: bool(heard))

    assert heard[0].headers["eta"] == when


def test_a_put_that_failed_is_delayed_when_it_is_tried_again(
    connection: Any, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = DelayQueue.schedule
    fails = [redis.ConnectionError("cut")]

    def cut_once(self: DelayQueue, *args: Any, **options: Any) -> Any:
        if fails:
            raise fails.pop()
        return schedule(self, *args, **options)

    monkeypatch.setattr(DelayQueue, "schedule", cut_once)
    with connection.channel() as channel:
        Producer(channel).publish(
            [],
            routing_key="q",
            headers={"id": "t", "task": "t", "eta": eta(60)},
            retry=True,
            retry_policy={"interval_start": 0},
        )

    assert stored("q").count() == Counts(1, 0, 0, 0)


def test_one_id_published_twice_is_delivered_twice(connection: Any) -> None:
    with connection.channel() as channel:
        for body in ("first", "second"):
            Producer(channel).publish(body, routing_key="q", headers={"id": "same"})

    assert [message.payload for message in take_all(connection, "q")] == ["first", "second"]


def test_five_thousand_serial_publishes_arrive_in_order(connection: Any) -> None:
    got: list[int] = []
    with connection.channel() as channel:
        producer = Producer(channel)
        for number in range(5000):
            producer.publish(number, routing_key="q", headers={"id": f"{number * 7919 % 5000}"})
        consumer = Consumer(channel, [Queue("q")], on_message=keep_payloads(got))
        consumer.qos(prefetch_count=100)
        with consumer:
            drain(connection, until=lambda: len(got) == 5000, within_seconds=30)

    assert got == list(range(5000))
