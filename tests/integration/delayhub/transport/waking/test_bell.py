"""The bell: it wakes who listens to its lanes, and never says what there is to do."""

from __future__ import annotations

import select
from collections.abc import Iterator

import pytest
import redis

from delayhub.engine import LaneKeys
from delayhub.local.redis_server import RedisServer
from delayhub.transport.waking.bell import Bell


@pytest.fixture
def bell(redis_client: redis.Redis, redis_server: RedisServer) -> Iterator[Bell]:
    pool = redis.ConnectionPool.from_url(redis_server.url, protocol=2)
    made = Bell(pool, "")
    yield made
    made.wire.close()
    pool.disconnect()


def ring(client: redis.Redis, lane: str) -> None:
    client.rpush(LaneKeys(lane).wake, 1)


def answer(bell: Bell) -> bool:
    """Whether it rang, once its connection has something to read."""
    assert select.select([bell.wire.socket], [], [], 10)[0], "no answer"
    return bell.rang()


@pytest.mark.parametrize("lane", ["a", "b"])
def test_it_hears_each_of_its_lanes(lane: str, bell: Bell, redis_client: redis.Redis) -> None:
    bell.listen(["a", "b"], at=0)
    ring(redis_client, lane)

    assert answer(bell)


def test_it_hears_a_ring_that_came_before_it_listened(bell: Bell, redis_client: redis.Redis) -> None:
    ring(redis_client, "a")
    bell.listen(["a"], at=0)

    assert answer(bell)


def test_the_end_of_the_wait_is_no_ring(bell: Bell) -> None:
    bell.seconds = 0.01
    bell.listen(["a"], at=0)

    assert not answer(bell)


def test_listening_to_the_same_lanes_again_asks_nothing_of_redis(bell: Bell) -> None:
    bell.listen(["a"], at=1)
    bell.listen(["a"], at=2)

    assert len(bell.wire.sent) == 1
    assert bell.wire.sent_at == 1


def test_other_lanes_are_listened_to_on_another_connection(bell: Bell, redis_client: redis.Redis) -> None:
    bell.listen(["a"], at=0)
    first = bell.wire.socket.getsockname()
    bell.listen(["b"], at=0)
    ring(redis_client, "b")

    assert bell.wire.socket.getsockname() != first
    assert answer(bell)


def test_what_redis_refuses_is_raised(bell: Bell, redis_client: redis.Redis) -> None:
    redis_client.set(LaneKeys("a").wake, "no list")
    bell.listen(["a"], at=0)

    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        answer(bell)
