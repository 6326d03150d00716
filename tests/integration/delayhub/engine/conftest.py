from collections.abc import Callable

import pytest
import redis

from delayhub.engine import DelayQueue, TimerLane


@pytest.fixture
def queue(redis_client: redis.Redis) -> DelayQueue:
    return DelayQueue(redis_client, "orders")


@pytest.fixture
def lane(redis_client: redis.Redis) -> TimerLane:
    return TimerLane(redis_client, "timers")


@pytest.fixture
def now_ms(redis_client: redis.Redis) -> Callable[[], int]:
    """Redis' own time in ms."""

    def now() -> int:
        seconds, micros = redis_client.time()
        return int(seconds) * 1000 + int(micros) // 1000

    return now


@pytest.fixture
def until(now_ms: Callable[[], int]) -> Callable[[int], None]:
    """Returns once Redis' clock has reached a time in ms; those times are a few ms ahead."""

    def wait(moment_ms: int) -> None:
        assert moment_ms - now_ms() < 2000
        while now_ms() < moment_ms:
            pass

    return wait
