"""A publish whose reply is lost is sent again, by redis-py and by kombu, and is stored once all the same.

What makes it so stands in ``kombu_channel``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from kombu import Connection, Exchange, Producer, Queue
from kombu.exceptions import KombuError

from delayhub.engine import Counts, DelayQueue
from delayhub.local.redis_server import RedisServer
from tests.celery_versions import needs_batches
from tests.consuming import take_all
from tests.fixture_types import Stored
from tests.tcp_proxy import TcpProxy

PATIENT = {"max_retries": 50, "interval_start": 0, "interval_step": 0.01, "interval_max": 0.05}
#: kombu gives up where the reply on its new connection is lost, too; of these errors it tries again as often as it may.
STUBBORN = {**PATIENT, "retry_errors": (redis.ConnectionError,)}


@pytest.fixture
def proxy(redis_server: RedisServer, redis_client: redis.Redis) -> Iterator[TcpProxy]:
    with TcpProxy(redis_server.port) as opened:
        yield opened


@pytest.fixture
def lossy(proxy: TcpProxy) -> Iterator[Any]:
    """A connection on which one reply of sixteen is lost, and of which redis-py sends commands again."""
    options = {"retry_on_timeout": True}
    with Connection(f"delayhub://127.0.0.1:{proxy.port}/0", transport_options=options) as opened:
        opened.default_channel.queue_declare("q")
        proxy.lose_replies(1 / 16)
        yield opened
        proxy.lose_replies(0)
        assert proxy.lost_replies > 3


def stored_ids(queue: DelayQueue) -> list[str]:
    return sorted(listed.id for listed in queue.list("ready", limit=1000))


def test_each_of_some_hundred_publishes_is_stored_once(lossy: Any, stored: Stored) -> None:
    ids = [f"t{number:03d}" for number in range(300)]
    producer = Producer(lossy.default_channel)
    for task_id in ids:
        producer.publish([], routing_key="q", headers={"id": task_id}, retry=True, retry_policy=STUBBORN)

    assert stored_ids(stored("q")) == ids


def test_messages_without_an_id_are_stored_once_too(lossy: Any, stored: Stored) -> None:
    producer = Producer(lossy.default_channel)
    for number in range(100):
        producer.publish(number, routing_key="q", retry=True, retry_policy=STUBBORN)

    assert stored("q").count() == Counts(0, 100, 0, 0)


def test_an_id_published_twice_on_purpose_is_stored_twice_although_replies_are_lost(lossy: Any, stored: Stored) -> None:
    producer = Producer(lossy.default_channel)
    for number in range(50):
        for _ in range(2):
            producer.publish([], routing_key="q", headers={"id": f"t{number:02d}"}, retry=True, retry_policy=STUBBORN)

    assert stored_ids(stored("q")) == sorted(f"t{number:02d}{copy}" for number in range(50) for copy in ("", "#1"))


class LostReply:
    """Stores what it is told to, and then fails, the first few times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, times: int) -> None:
        self.left = times
        schedule = DelayQueue.schedule

        def lose_reply(queue: DelayQueue, *args: Any, **options: Any) -> Any:
            answer = schedule(queue, *args, **options)
            if self.left:
                self.left -= 1
                raise redis.ConnectionError("the reply was lost")
            return answer

        monkeypatch.setattr(DelayQueue, "schedule", lose_reply)


def test_a_publish_that_kombu_tries_again_is_stored_once_in_each_queue(
    connection: Any, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = Exchange("both")
    queues = [Queue(name, exchange, routing_key="k") for name in ("one", "two")]
    producer = Producer(connection.default_channel)
    producer.publish([], exchange=exchange, routing_key="k", headers={"id": "other"}, declare=queues)
    LostReply(monkeypatch, times=1)

    producer.publish(
        [], exchange=exchange, routing_key="k", headers={"id": "t"}, declare=queues, retry=True, retry_policy=PATIENT
    )

    assert [stored_ids(stored(name)) for name in ("one", "two")] == [["other", "t"]] * 2


def test_a_retry_that_is_tried_again_while_its_first_message_is_held_is_stored_once_beside_it(
    connection: Any, broker: str, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = connection.default_channel
    Producer(channel).publish("first", routing_key="q", headers={"id": "t"})
    held = channel.basic_get("q")
    LostReply(monkeypatch, times=1)

    with Connection(broker) as other:
        Producer(other.default_channel).publish(
            "retry", routing_key="q", headers={"id": "t"}, retry=True, retry_policy=PATIENT
        )

    assert stored_ids(stored("q")) == ["t#1"]
    held.ack()
    channel.book.flush()
    assert [message.payload for message in take_all(connection, "q")] == ["retry"]


@needs_batches
def test_each_message_of_a_batch_is_stored_once(
    connection: Any, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"t{number}" for number in range(9)]
    producer = Producer(connection.default_channel)
    LostReply(monkeypatch, times=1)

    with producer.batch(max_size=3):
        for task_id in ids:
            producer.publish([], routing_key="q", headers={"id": task_id})

    assert stored_ids(stored("q")) == ids


@needs_batches
def test_a_batch_fails_when_its_reply_is_lost_again_and_has_stored_each_message_once(
    connection: Any, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = Producer(connection.default_channel)
    LostReply(monkeypatch, times=2)

    with pytest.raises(KombuError, match="delivery is uncertain"), producer.batch(max_size=3):
        producer.publish([], routing_key="q", headers={"id": "t"})

    assert stored_ids(stored("q")) == ["t"]


def test_one_prepared_message_published_twice_is_stored_twice(connection: Any, stored: Stored) -> None:
    channel = connection.default_channel
    message = channel.prepare_message("twice", headers={"id": "t"})

    for _ in range(2):
        channel.basic_publish(message, exchange="", routing_key="q")

    assert stored_ids(stored("q")) == ["t", "t#1"]


def test_a_message_forwarded_with_its_properties_is_not_taken_for_the_one_it_came_from(
    connection: Any, stored: Stored
) -> None:
    channel = connection.default_channel
    Producer(channel).publish("forward", routing_key="q", headers={"id": "t"})
    held = channel.basic_get("q")
    properties = {name: value for name, value in held.properties.items() if name not in ("priority", "delivery_mode")}

    Producer(channel).publish(held.payload, routing_key="q", headers=held.headers, **properties)
    held.ack()
    connection.default_channel.book.flush()

    assert [message.payload for message in take_all(connection, "q")] == ["forward"]
