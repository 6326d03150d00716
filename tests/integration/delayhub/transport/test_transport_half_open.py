"""A connection that stays open and passes nothing on is noticed, and left for another."""

from __future__ import annotations

import time
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Producer, Queue

from delayhub.engine import Counts, DelayQueue
from delayhub.local.redis_server import RedisServer
from delayhub.transport.consuming import consumer
from tests.tcp_proxy import TcpProxy


def test_a_consumer_leaves_a_connection_that_went_silent(
    redis_server: RedisServer, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "CLAIM_TIMEOUT_SECONDS", 0.4)
    got: list[Any] = []

    def on_message(message: Any) -> None:
        got.append(message.payload)
        message.ack()

    options = {"socket_timeout": 0.5, "lease_seconds": 1}
    with TcpProxy(redis_server.port) as proxy:
        url = f"delayhub://127.0.0.1:{proxy.port}/0"
        with Connection(url, transport_options=options) as connection:
            channel = connection.channel()
            Producer(channel).publish("before", routing_key="q")
            Consumer(channel, [Queue("q")], on_message=on_message).consume()
            drain(connection, got, 1)
            proxy.stalled.set()

            with pytest.raises(connection.connection_errors):
                deadline = time.monotonic() + 10
                while time.monotonic() < deadline:
                    try:
                        connection.drain_events(timeout=0.2)
                    except TimeoutError:
                        continue
            connection.collect()
        proxy.cut()
        proxy.stalled.clear()

        with Connection(url, transport_options=options) as connection:
            channel = connection.channel()
            Producer(channel).publish("after", routing_key="q")
            Consumer(channel, [Queue("q")], on_message=on_message).consume()
            drain(connection, got, 2)
            channel.book.keep()
            deadline = time.monotonic() + 5
            while DelayQueue(redis_client, "q").count() != Counts(0, 0, 0, 0) and time.monotonic() < deadline:
                time.sleep(0.02)  # acknowledgements travel by themselves

    assert got == ["before", "after"]
    assert DelayQueue(redis_client, "q").count() == Counts(0, 0, 0, 0)


def drain(connection: Any, got: list[Any], count: int) -> None:
    deadline = time.monotonic() + 5
    while len(got) < count:
        assert time.monotonic() < deadline, "nothing came in time"
        try:
            connection.drain_events(timeout=0.2)
        except TimeoutError:
            continue
