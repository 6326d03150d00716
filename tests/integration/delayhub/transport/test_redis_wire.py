"""One connection that is used without waiting: commands go out together, replies are read when they come."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from delayhub.local.redis_server import RedisServer
from delayhub.transport.redis_wire import RedisWire


@pytest.fixture
def wire(redis_client: redis.Redis, redis_server: RedisServer) -> Iterator[RedisWire]:
    pool = redis.ConnectionPool.from_url(redis_server.url)
    wire = RedisWire(pool)
    wire.connect()
    yield wire
    wire.close()
    pool.disconnect()


def test_commands_sent_together_are_answered_together(wire: RedisWire) -> None:
    wire.send([(None, ("SET", "a", "1")), (None, ("GET", "a"))], at=0)

    assert wire.receive() == [b"OK", b"1"]
    assert wire.sent == []


def test_an_error_stands_in_the_place_of_its_command(wire: RedisWire) -> None:
    wire.send([(None, ("LPUSH", "a", "1")), (None, ("GET", "a")), (None, ("LLEN", "a"))], at=0)

    pushed, refused, length = wire.receive()

    assert (pushed, length) == (1, 1)
    assert isinstance(refused, redis.ResponseError)


def test_a_connection_closed_while_nothing_was_under_way_is_noticed(wire: RedisWire, redis_client: redis.Redis) -> None:
    assert wire.receive() == []

    redis_client.client_kill_filter(_type="normal", skipme=True)

    with pytest.raises(redis.ConnectionError):
        wire.receive()


def test_a_wire_that_is_closed_gives_its_connection_back(redis_client: redis.Redis, redis_server: RedisServer) -> None:
    pool = redis.ConnectionPool.from_url(redis_server.url, max_connections=2)

    for _ in range(10):
        wire = RedisWire(pool)
        wire.connect()
        wire.send([(None, ("PING",))], at=0)
        wire.close()

    assert redis.Redis(connection_pool=pool).ping() is True
    pool.disconnect()
