"""The delivery rate of a queue, claimed in time and late, by a Redis clock that stands until a test moves it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any, cast

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from delayhub.engine import Gate, TimerLane
from delayhub.engine.scripts import names, script
from delayhub.local.redis_server import RedisServer
from tests.property_sizes import examples

BEGIN_US = 1_900_000_000_000_000
#: Lateness of claims that costs no permit, in µs.
CATCH_UP_US = 100_000


class SteppedRedis:
    """A client whose scripts read ``now_us`` instead of Redis' clock."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self.now_us = BEGIN_US

    def execute_command(self, command: str, sha: str, *args: Any) -> Any:
        stepped = SOURCES[sha].replace("redis.call('TIME')", f"{{{self.now_us // 10**6}, {self.now_us % 10**6}}}")
        return self._client.execute_command("EVAL", stepped, *args)


SOURCES = {script(name).sha: script(name).source for name in names()}


class Claimer:
    """Claims timers of one queue with a gate, at times that a test gives; ``gone``: µs after the beginning, of each."""

    def __init__(self, client: redis.Redis, gate: Gate, *, due_ms: Callable[[int], int]) -> None:
        client.flushall()
        self.redis = SteppedRedis(client)
        self.lane = TimerLane(cast("redis.Redis", self.redis), "timers")
        self.lane.set_gate("close", gate)
        self.lane.ensure("close", [(str(number), BEGIN_US // 1000 + due_ms(number)) for number in range(2_000)])
        self.gone: list[int] = []

    def claim_at(self, after_us: int) -> int:
        """When the claim says that the next one makes sense, in µs after the beginning."""
        self.redis.now_us = BEGIN_US + after_us
        claim = self.lane.claim(100)
        self.gone += [after_us for batch in claim.batches for _ in batch.ids]
        assert claim.come_back_ms is not None
        return claim.come_back_ms * 1000 - BEGIN_US


def most_in(span_us: int, gone: list[int]) -> int:
    """The most that went within any span of that length."""
    return max((sum(at <= each < at + span_us for each in gone) for at in set(gone)), default=0)


@pytest.mark.parametrize(("rate", "burst"), [(3, 1), (70, 10), (499, 1)])
@pytest.mark.parametrize("late_us", [900, 7_300, 85_000])
def test_claims_that_come_late_get_the_whole_rate(
    redis_client: redis.Redis, rate: int, burst: int, late_us: int
) -> None:
    claimer = Claimer(redis_client, Gate(rate_per_second=rate, burst=burst), due_ms=lambda number: 0)

    at_us = 0
    while at_us < 2_000_000:
        at_us = claimer.claim_at(at_us) + late_us

    assert len(claimer.gone) >= int(0.98 * (burst + rate * claimer.gone[-1] / 1e6))


@settings(max_examples=examples(20), deadline=None, derandomize=True, database=None)
@given(
    gaps=st.lists(st.sampled_from([100, 1_000, 2_001, 30_000, 99_000, 250_000, 1_100_000]), min_size=5, max_size=60),
    rate=st.sampled_from([3, 70, 500]),
    burst=st.sampled_from([1, 7]),
    spread_ms=st.sampled_from([0, 1, 40]),
)
def test_no_second_gets_more_than_the_burst_the_rate_and_what_catches_up(
    redis_server: RedisServer, gaps: list[int], rate: int, burst: int, spread_ms: int
) -> None:
    with redis_server.client() as client:
        claimer = Claimer(client, Gate(rate_per_second=rate, burst=burst), due_ms=lambda number: number * spread_ms)
        for at_us in accumulate(gaps):
            claimer.claim_at(at_us)

    assert most_in(1_000_000, claimer.gone) <= burst + rate * (1_000_000 + CATCH_UP_US) / 1e6 + 0.001


def test_claims_that_come_in_time_get_the_burst_and_then_the_rate(redis_client: redis.Redis) -> None:
    claimer = Claimer(redis_client, Gate(rate_per_second=100, burst=5), due_ms=lambda number: 500)

    for at_us in range(0, 2_000_000, 5_000):
        claimer.claim_at(at_us)

    assert claimer.gone[:7] == [500_000] * 5 + [510_000, 520_000]
    assert most_in(1_000_000, claimer.gone) == 5 + 99


@pytest.mark.parametrize(
    ("due_ms", "shut_ms"),
    [
        # not due before
        (1_000, 0),
        # due, but paused
        (0, 1_000),
    ],
)
def test_permits_that_no_timer_could_have_used_are_lost_but_for_the_burst(
    redis_client: redis.Redis, due_ms: int, shut_ms: int
) -> None:
    gate = Gate(rate_per_second=100, burst=3, shut_until_ms=BEGIN_US // 1000 + shut_ms)
    claimer = Claimer(redis_client, gate, due_ms=lambda number: due_ms)

    for at_us in (500_000, 999_999, 1_020_000, 1_020_100):
        claimer.claim_at(at_us)

    # the last claim but one is 20 ms late, which is worth two permits
    assert claimer.gone == [1_020_000] * 5


def test_due_timers_that_wait_for_permits_are_claimed_together(redis_client: redis.Redis) -> None:
    claimer = Claimer(redis_client, Gate(rate_per_second=1_000), due_ms=lambda number: 0 if number < 30 else 60_000)

    comes_back = [claimer.claim_at(0), claimer.claim_at(10_000), claimer.claim_at(20_000)]

    assert comes_back == [10_000, 20_000, 30_000]
    assert claimer.gone == [0] + [10_000] * 10 + [20_000] * 10


def test_a_timer_that_is_due_soon_is_not_kept_waiting_for_others(redis_client: redis.Redis) -> None:
    claimer = Claimer(redis_client, Gate(rate_per_second=500), due_ms=lambda number: number * 3)

    assert claimer.claim_at(0) == 3_000
