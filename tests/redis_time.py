"""Redis' own clock: it decides what is due, so tests ask it and not the machine's."""

from __future__ import annotations

import time

import redis


def redis_now_ms(client: redis.Redis) -> float:
    """Redis' time in ms, with a fraction."""
    seconds, micros = client.time()
    return float(seconds * 1000 + micros / 1000)


def wait_until_redis_ms(client: redis.Redis, moment_ms: float) -> None:
    """Returns once Redis' clock has reached a time, which must be less than two seconds ahead."""
    left_ms = moment_ms - redis_now_ms(client)
    assert left_ms < 2000
    while left_ms > 0:
        time.sleep(left_ms / 1000)
        left_ms = moment_ms - redis_now_ms(client)
