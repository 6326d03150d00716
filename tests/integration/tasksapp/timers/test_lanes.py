"""How Redis is reached: briefly for callers that a person waits for, patiently for the loader, and not at all for a
second after it did not answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from delayhub.testing import MovableClock
from tasksapp.timers import lanes
from tasksapp.timers.lanes import REST_SECONDS, brisk_lane, client, patient_lane, patient_lanes, tried, try_again


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[MovableClock]:
    """The clock of the rest after a failure."""
    made = MovableClock()
    monkeypatch.setattr(lanes, "_clock", made)
    try_again()
    yield made
    try_again()


def fail() -> None:
    raise redis.ConnectionError("refused")


def test_both_kinds_of_lane_see_the_same_timers() -> None:
    brisk_lane("delayhub.timers").ensure("order.close", [("1", 1)])

    assert patient_lane("delayhub.timers").count("order.close") == 1


def test_a_client_is_made_once_for_each_address(settings: Any) -> None:
    first = client()
    assert client() is first

    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}

    assert client() is not first


def test_all_lanes_of_the_options_are_there(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "LANES": ["fast", "slow"]}

    assert [lane.name for lane in patient_lanes()] == ["fast", "slow"]


def test_keys_have_the_prefix_of_the_options(settings: Any, redis_client: redis.Redis) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "KEY_PREFIX": "shop:"}

    patient_lane("delayhub.timers").ensure("order.close", [("1", 1)])

    assert all(key.startswith(b"shop:") for key in redis_client.scan_iter())


def test_a_caller_gets_the_answer(clock: MovableClock) -> None:
    assert tried(lambda: 7, action="arm") == 7


@pytest.mark.parametrize("error", [redis.ConnectionError("refused"), redis.TimeoutError("slow"), OSError("unplugged")])
def test_a_failure_of_redis_is_none_and_is_logged(
    error: Exception, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    def raise_it() -> None:
        raise error

    assert tried(raise_it, action="arm") is None
    assert str(error) in caplog.text


def test_after_a_failure_nobody_asks_again_for_a_second(clock: MovableClock) -> None:
    asked: list[str] = []
    tried(fail, action="arm")

    tried(lambda: asked.append("at once"), action="arm")
    clock.advance(seconds=REST_SECONDS + 0.1)
    tried(lambda: asked.append("later"), action="arm")

    assert asked == ["later"]


def test_a_fault_of_the_caller_is_raised(clock: MovableClock) -> None:
    with pytest.raises(ZeroDivisionError):
        tried(lambda: 1 / 0, action="arm")
