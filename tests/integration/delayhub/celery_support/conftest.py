from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis
from celery import Celery

import delayhub
from delayhub.engine import DelayQueue
from delayhub.local.redis_server import RedisServer


@pytest.fixture
def app(redis_server: RedisServer, redis_client: redis.Redis) -> Iterator[Celery]:
    """A Celery app on an empty delayhub broker."""
    assert redis_client.dbsize() == 0
    made = Celery("shop", broker=redis_server.url.replace("redis://", "delayhub://"), set_as_current=False)
    delayhub.install(made)

    @made.task(name="shop.close", shared=False)
    def close(order: str) -> None:
        del order

    yield made
    made.close()


@pytest.fixture
def queue(redis_client: redis.Redis) -> DelayQueue:
    """The engine's own view of the app's default queue."""
    return DelayQueue(redis_client, "celery")
