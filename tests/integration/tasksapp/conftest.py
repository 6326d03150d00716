"""What tests of the timeout centre may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from delayhub.engine import TimerLane
from delayhub.standalone.redis_server import RedisServer
from tasksapp import timers
from tasksapp.catalogue import catalogue
from tasksapp.models import BizType


@pytest.fixture(autouse=True)
def _private_redis(settings: Any, redis_server: RedisServer, redis_client: redis.Redis) -> Iterator[None]:
    settings.DELAYHUB = {
        "REDIS_URL": redis_server.url,
        "ALLOWED_NETWORKS": ["127.0.0.0/8"],
        "ARM_TIMEOUT_SECONDS": 5.0,  # a machine busy with tests is no reason to leave a timer to the loader
    }
    timers._rest.until = 0.0
    catalogue.forget()
    yield
    timers._rest.until = 0.0


@pytest.fixture
def lane(redis_client: redis.Redis) -> TimerLane:
    """The timer lane that jobs wait in."""
    return TimerLane(redis_client, "delayhub.timers")


@pytest.fixture
def biz_type(db: None) -> BizType:
    """A biz type that takes jobs."""
    return BizType.objects.create(code="order.close", url="https://shop.example/hooks/close")


MakeBizType = Callable[..., BizType]


@pytest.fixture
def make_biz_type(db: None) -> MakeBizType:
    """Makes biz types: ``make_biz_type("a.code", max_attempts=3)``."""

    def make(code: str, **fields: object) -> BizType:
        return BizType.objects.create(code=code, **{"url": "https://shop.example/hooks", **fields})

    return make
