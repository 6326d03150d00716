"""When Redis counts as away: two seconds after its last answer, until this process has claimed again."""

from __future__ import annotations

import pytest

from tasksapp.workers.redis_stand_in import AFTERWARDS_SECONDS, RedisSilence
from tests.standing_clock import StandingClock


class Redis:
    """What a process sees of it."""

    def __init__(self) -> None:
        self.clock = StandingClock()
        self.answers = True
        self.claimed_at = 0.0
        self.asked = 0
        self.silence = RedisSilence(ask=self.ask, claimed_at=lambda: self.claimed_at, clock=self.clock)

    def ask(self) -> bool:
        self.asked += 1
        return self.answers

    def after(self, seconds: float) -> bool:
        """Whether it is away, so many seconds later."""
        self.clock.seconds += seconds
        return self.silence.look()


@pytest.fixture
def redis() -> Redis:
    return Redis()


def test_it_is_away_two_seconds_after_its_last_answer(redis: Redis) -> None:
    redis.after(5)
    redis.answers = False

    assert [redis.after(0.5) for _ in range(6)] == [False, False, False, True, True, True]


def test_a_process_that_claims_asks_nothing(redis: Redis) -> None:
    for _ in range(10):
        redis.claimed_at = redis.clock.seconds
        assert not redis.after(0.9)

    assert redis.asked == 0


def test_a_process_that_is_started_while_it_is_away_notices_too(redis: Redis) -> None:
    redis.answers = False

    assert [redis.after(1) for _ in range(2)] == [False, True]


def test_an_answer_does_not_end_it_but_a_claim_does(redis: Redis) -> None:
    redis.answers = False
    redis.after(3)
    redis.answers = True

    assert redis.after(10), "the connections that claim may need longer to come back"
    redis.claimed_at = redis.clock.seconds
    assert not redis.after(0.5)


def test_for_a_while_afterwards_jobs_may_still_be_late_for_it(redis: Redis) -> None:
    redis.answers = False
    redis.after(3)
    redis.answers, redis.claimed_at = True, redis.clock.seconds + 1
    redis.after(1)
    before = redis.silence.is_over

    redis.after(AFTERWARDS_SECONDS)

    assert (before, redis.silence.is_over) == (True, False)
