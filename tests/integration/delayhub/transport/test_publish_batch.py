"""A batch of publishes: one script call a queue, everything or an error."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from kombu import Exchange, Producer, Queue
from kombu.exceptions import KombuError

from delayhub.engine import Counts
from tests.celery_versions import needs_batches
from tests.fixture_types import Stored

pytestmark = needs_batches


def script_calls(client: redis.Redis) -> int:
    """How many scripts the server has run since its statistics were reset."""
    statistics: Any = client.info("commandstats")
    return sum(statistics.get(f"cmdstat_{verb}", {}).get("calls", 0) for verb in ("eval", "evalsha"))


def test_all_entries_of_a_queue_travel_in_one_call(connection: Any, redis_client: redis.Redis, stored: Stored) -> None:
    with connection.channel() as channel:
        producer = Producer(channel)
        producer.publish("first", routing_key="a")  # the server knows the script from now on
        redis_client.config_resetstat()
        with producer.batch(max_size=1000):
            for number in range(100):
                producer.publish(number, routing_key="ab"[number % 2])

    assert script_calls(redis_client) == 2
    assert (stored("a").count().ready, stored("b").count().ready) == (51, 50)


def test_nothing_is_stored_before_the_batch_is_full_or_ends(connection: Any, stored: Stored) -> None:
    with connection.channel() as channel:
        producer = Producer(channel)
        with producer.batch(max_size=3):
            producer.publish(1, routing_key="q")
            producer.publish(2, routing_key="q")
            assert stored("q").count().ready == 0
            producer.publish(3, routing_key="q")
            assert stored("q").count().ready == 3
            producer.publish(4, routing_key="q")

    assert stored("q").count().ready == 4


def test_what_expires_expires_after_a_batch_too(connection: Any, redis_client: redis.Redis) -> None:
    with connection.channel() as channel:
        Queue("reply", expires=60, durable=False)(channel).declare()
        producer = Producer(channel)
        with producer.batch(max_size=10):
            producer.publish("x", routing_key="reply")

    assert [key for key in redis_client.keys("delayhub:*") if redis_client.pttl(key) == -1] == []


def test_a_fanout_in_a_batch_is_kombus_own(connection: Any, stored: Stored) -> None:
    with connection.channel() as channel:
        producer = Producer(channel)
        with producer.batch(max_size=10):
            producer.publish("to all", exchange=Exchange("all", type="fanout"))
            producer.publish("to one", routing_key="q")

    assert stored("q").count() == Counts(0, 1, 0, 0)


def test_a_batch_that_redis_refuses_is_an_error_and_is_not_sent_again(
    connection: Any, redis_client: redis.Redis, stored: Stored
) -> None:
    with connection.channel() as channel:
        producer = Producer(channel)
        redis_client.config_set("maxmemory", 1)
        try:
            with pytest.raises((KombuError, redis.ResponseError)), producer.batch(max_size=10):
                producer.publish(1, routing_key="q")
        finally:
            redis_client.config_set("maxmemory", 0)
        with producer.batch(max_size=10):
            producer.publish(2, routing_key="q")

        assert channel.basic_get("q", no_ack=True).payload == 2
    assert stored("q").count() == Counts(0, 0, 0, 0)
