from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from kombu import Connection

from delayhub.engine import DelayQueue
from delayhub.local.redis_server import RedisServer
from delayhub.transport import register

register()


@pytest.fixture
def url(redis_server: RedisServer, redis_client: redis.Redis) -> str:
    """An empty delayhub broker."""
    assert redis_client.dbsize() == 0
    return redis_server.url.replace("redis://", "delayhub://")


@pytest.fixture
def connection(url: str) -> Iterator[Any]:
    with Connection(url) as opened:
        yield opened


@pytest.fixture
def stored(redis_client: redis.Redis) -> Callable[[str], DelayQueue]:
    """The engine's own view of a queue."""
    return lambda name: DelayQueue(redis_client, name)
