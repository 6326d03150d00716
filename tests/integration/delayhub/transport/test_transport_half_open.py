"""A connection that stays open and passes nothing on is noticed, and left for another."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Producer, Queue

from delayhub.engine import Counts, DelayQueue
from delayhub.local.redis_server import RedisServer
from delayhub.transport.consuming import consumer
from tests.consuming import drain, keep_payloads
from tests.tcp_proxy import TcpProxy
from tests.waiting import wait_until


def test_a_consumer_leaves_a_connection_that_went_silent(
    redis_server: RedisServer, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "CLAIM_TIMEOUT_SECONDS", 0.4)
    got: list[Any] = []

    options = {"socket_timeout": 0.5, "lease_seconds": 1}
    with TcpProxy(redis_server.port) as proxy:
        url = f"delayhub://127.0.0.1:{proxy.port}/0"
        with Connection(url, transport_options=options) as connection:
            channel = connection.channel()
            Producer(channel).publish("before", routing_key="q")
            Consumer(channel, [Queue("q")], on_message=keep_payloads(got)).consume()
            drain(connection, until=lambda: len(got) >= 1)
            proxy.stalled.set()

            with pytest.raises(connection.connection_errors):
                drain(connection, until=lambda: False, within_seconds=10)
            connection.collect()
        proxy.cut()
        proxy.stalled.clear()

        with Connection(url, transport_options=options) as connection:
            channel = connection.channel()
            Producer(channel).publish("after", routing_key="q")
            Consumer(channel, [Queue("q")], on_message=keep_payloads(got)).consume()
            drain(connection, until=lambda: len(got) >= 2)
            channel.book.keep()
            # Acknowledgements travel by themselves.
            wait_until(lambda: DelayQueue(redis_client, "q").count() == Counts(0, 0, 0, 0), within_seconds=5)

    assert got == ["before", "after"]
    assert DelayQueue(redis_client, "q").count() == Counts(0, 0, 0, 0)
