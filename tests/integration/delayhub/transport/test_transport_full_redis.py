"""A Redis whose memory is full refuses publishes, and lets consumers go on, since those free it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from celery import Celery
from kombu import Connection, Consumer, Producer, Queue
from kombu.exceptions import KombuError

import delayhub
from delayhub.engine import Counts, TimerLane
from tests.celery_versions import needs_batches
from tests.consuming import drain, keep_payloads
from tests.fixture_types import Stored

REFUSED = (KombuError, redis.ResponseError)


@contextmanager
def full(client: redis.Redis) -> Iterator[None]:
    client.config_set("maxmemory", 1)
    try:
        yield
    finally:
        client.config_set("maxmemory", 0)


def state(client: redis.Redis) -> dict[bytes, bytes]:
    """All keys of ours, with what is in them."""
    return {key: client.dump(key) for key in client.scan_iter("delayhub:*")}


@pytest.mark.parametrize("publish", ["one", pytest.param("batch", marks=needs_batches), "task", "later"])
def test_a_publish_is_refused_and_nothing_of_it_is_kept(
    publish: str, broker: str, redis_client: redis.Redis, stored: Stored
) -> None:
    app = Celery("full", broker=broker, set_as_current=False)
    delayhub.install(app)
    with Connection(broker) as connection, connection.channel() as channel:
        Queue("celery")(channel).declare()
        before = state(redis_client)
        with full(redis_client), pytest.raises(REFUSED) as refused:
            match publish:
                case "one":
                    Producer(channel).publish("x" * 1000, routing_key="celery")
                case "batch":
                    producer = Producer(channel)
                    with producer.batch(max_size=10):
                        for number in range(3):
                            producer.publish(number, routing_key="celery")
                case "task":
                    app.send_task("t", retry=False)
                case "later":
                    app.send_task("t", countdown=60, retry=False)

        assert "maxmemory" in f"{refused.value} {refused.value.__cause__}"
        assert state(redis_client) == before
    app.close()


def test_consumers_work_a_full_redis_empty(connection: Any, redis_client: redis.Redis, stored: Stored) -> None:
    got: list[Any] = []
    with connection.channel() as channel:
        for number in range(30):
            Producer(channel).publish(number, routing_key="q")
        consumer = Consumer(channel, [Queue("q")], on_message=keep_payloads(got))
        consumer.qos(prefetch_count=5)
        with consumer, full(redis_client):
            drain(connection, until=lambda: len(got) == 30)
            channel.book.keep()

            assert stored("q").count() == Counts(0, 0, 0, 0)
    assert got == list(range(30))


def test_leases_are_renewed_lost_and_struck_on_a_full_redis(redis_client: redis.Redis, stored: Stored) -> None:
    queue, lane = stored("q"), TimerLane(redis_client, "timers")
    queue.schedule([delayhub.engine.Entry(name) for name in ("kept", "struck", "lost")])
    lane.ensure("close", [("1", 1)])
    with full(redis_client):
        kept, struck = (queue.lease(entry.id, entry.token) for entry in queue.claim(2).entries)
        queue.claim(1, lease_ms=0)

        assert queue.extend([kept]) == {"kept"}
        assert queue.strike([struck], why="x").returned == 1
        assert queue.reap().returned == 1
        assert [batch.ids for batch in lane.claim().batches] == [["1"]]

    assert queue.count() == Counts(0, 2, 1, 0)


def test_a_publish_is_refused_and_no_half_of_it_is_kept(broker: str, redis_client: redis.Redis, stored: Stored) -> None:
    with full(redis_client), Connection(broker) as connection, connection.channel() as channel:
        with pytest.raises(REFUSED, match="maxmemory"):
            Producer(channel).publish("x" * 1000, routing_key="q")

    assert stored("q").count() == Counts(0, 0, 0, 0)
    assert not redis_client.exists(stored("q").keys.payload)
