"""A queue, a timer lane, and Redis' own clock."""

from __future__ import annotations

from functools import partial

import pytest
import redis

from delayhub.engine import DelayQueue, TimerLane
from tests.fixture_types import Now, Until
from tests.redis_time import redis_now_ms, wait_until_redis_ms


@pytest.fixture
def queue(redis_client: redis.Redis) -> DelayQueue:
    return DelayQueue(redis_client, "orders")


@pytest.fixture
def lane(redis_client: redis.Redis) -> TimerLane:
    return TimerLane(redis_client, "timers")


@pytest.fixture
def now_ms(redis_client: redis.Redis) -> Now:
    """Redis' own time in ms."""

    return lambda: int(redis_now_ms(redis_client))


@pytest.fixture
def until(redis_client: redis.Redis) -> Until:
    """Returns once Redis' clock has reached a time in ms."""
    return partial(wait_until_redis_ms, redis_client)
