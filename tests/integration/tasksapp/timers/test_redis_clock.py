"""Redis' time, as a process knows it: compared now and then, and kept while Redis is away."""

from __future__ import annotations

import redis

from delayhub.testing import MovableClock
from tasksapp.timers.redis_clock import SYNC_SECONDS, RedisClock
from tests.redis_time import redis_now_ms


def nowhere() -> redis.Redis:
    return redis.Redis(port=1)


def test_before_redis_was_ever_there_it_is_the_machines_time() -> None:
    machine = MovableClock()
    clock = RedisClock(nowhere, machine)

    assert not clock.sync()
    assert abs(clock.now_ms() - machine.now_ms()) < 10_000


def test_it_is_redis_time_however_wrong_the_machine_is(redis_client: redis.Redis) -> None:
    machine = MovableClock()
    machine.advance(days=1)
    clock = RedisClock(lambda: redis_client, machine)

    before = redis_now_ms(redis_client)
    assert clock.sync()
    after = redis_now_ms(redis_client)

    assert int(before) <= clock.now_ms() <= after + 1000


def test_it_runs_on_while_redis_is_away(redis_client: redis.Redis) -> None:
    machine = MovableClock()
    servers = [redis_client]
    clock = RedisClock(lambda: servers[-1], machine)
    clock.sync()
    known = clock.now_ms()
    servers.append(nowhere())

    machine.advance(seconds=SYNC_SECONDS + 1)

    assert not clock.sync()
    assert clock.now_ms() - known >= (SYNC_SECONDS + 1) * 1000


def test_it_is_compared_again_after_a_while_only(redis_client: redis.Redis) -> None:
    machine = MovableClock()
    asked = 0

    def client() -> redis.Redis:
        nonlocal asked
        asked += 1
        return redis_client

    clock = RedisClock(client, machine)
    for seconds in (0, SYNC_SECONDS - 1, 2):
        machine.advance(seconds=seconds)
        assert clock.sync()

    assert asked == 2


def test_its_seconds_are_the_machines_and_never_go_back() -> None:
    machine = MovableClock()
    clock = RedisClock(nowhere, machine)
    before = clock.monotonic()

    machine.advance(seconds=5)

    assert clock.monotonic() >= before + 5
