"""Which sockets are watched: those of channels that consume, with an event loop and without, until they go silent."""

from __future__ import annotations

import gc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Producer, Queue
from kombu.asynchronous import Hub

from delayhub.engine import Counts, DelayQueue
from delayhub.local.redis_server import RedisServer
from delayhub.transport.consuming import consumer
from tests.consuming import drain, keep_payloads
from tests.tcp_proxy import TcpProxy
from tests.waiting import wait_until


def test_a_consumer_leaves_a_connection_that_went_silent(
    redis_server: RedisServer, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[Any] = []

    # On a busy machine too, the lease outlasts the silence; else "before" would rightly come again.
    options = {"socket_timeout": 1, "lease_seconds": 10}
    with TcpProxy(redis_server.port) as proxy:
        url = f"delayhub://127.0.0.1:{proxy.port}/0"
        with Connection(url, transport_options=options) as connection:
            channel = connection.channel()
            Producer(channel).publish("before", routing_key="q")
            Consumer(channel, [Queue("q")], on_message=keep_payloads(got)).consume()
            drain(connection, until=lambda: len(got) >= 1)
            proxy.stalled.set()

            with monkeypatch.context() as patch, pytest.raises(connection.connection_errors):
                patch.setattr(consumer, "ANSWER_SECONDS", 0.4)
                drain(connection, until=lambda: False)
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
            wait_until(lambda: DelayQueue(redis_client, "q").count() == Counts(0, 0, 0, 0))

    assert got == ["before", "after"]
    assert DelayQueue(redis_client, "q").count() == Counts(0, 0, 0, 0)


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_a_transport_that_is_not_connected_opens_no_descriptor() -> None:
    gc.collect()
    before = open_descriptors()

    transports = [Connection("delayhub://127.0.0.1:1/0").transport for _ in range(5)]

    assert open_descriptors() == before
    assert len(transports) == 5


def test_a_connection_that_was_closed_holds_no_descriptor(broker: str) -> None:
    connection = Connection(broker)
    gc.collect()  # what other tests left may be closed at any moment
    before = open_descriptors()
    channel = connection.channel()
    Consumer(channel, [Queue("q")]).consume()
    with pytest.raises(TimeoutError):
        connection.drain_events(timeout=0.01)
    transport = connection.transport

    connection.close()

    assert open_descriptors() == before
    assert transport.channels == []


def test_a_poller_that_was_closed_polls_again(broker: str) -> None:
    with Connection(broker) as connection:
        poller = connection.transport.cycle
        first = poller.poller
        poller.close()

        assert poller.poller.poll(0) == []
        assert poller.poller is not first
        poller.close()


def test_without_an_event_loop_nothing_within_the_timeout_is_empty(connection: Any) -> None:
    channel = connection.default_channel
    Consumer(channel, [Queue("q")]).consume()

    with pytest.raises(Empty):
        connection.transport.cycle.get(None, timeout=0.05)


def test_a_closed_channel_is_watched_no_more(connection: Any) -> None:
    poller = connection.transport.cycle
    channel = connection.channel()
    got: list[Any] = []
    Producer(channel).publish("x", routing_key="q")
    Consumer(channel, [Queue("q")], on_message=keep_payloads(got)).consume()
    drain(connection, until=lambda: bool(got))
    assert {owner for owner, _ in poller.fds.values()} == {channel}

    channel.close()

    assert poller.fds == {}


def test_an_event_loop_wakes_its_consumers_for_what_comes_and_for_what_is_due(connection: Any) -> None:
    loop: Any = Hub()
    got: list[Any] = []
    channel = connection.channel()
    Consumer(channel, [Queue("q")], on_message=keep_payloads(got)).consume()
    connection.transport.register_with_event_loop(connection.connection, loop)
    soon = datetime.now(UTC) + timedelta(seconds=0.1)  # noqa: TID251  an eta is made by a client's clock
    with connection.clone() as other:
        Producer(other.default_channel).publish("due", routing_key="q", headers={"id": "t", "eta": soon.isoformat()})
        Producer(other.default_channel).publish("at once", routing_key="q")

    def took_a_turn() -> bool:
        loop.run_once()
        return len(got) == 2

    wait_until(took_a_turn, look_seconds=0)
    channel.close()

    assert sorted(got) == ["at once", "due"]
    assert connection.transport.cycle.fds == {}
    loop.close()
