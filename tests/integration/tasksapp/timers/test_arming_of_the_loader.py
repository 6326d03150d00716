"""Timers are ensured for rows by a client that waits for Redis, and says where it cannot."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis
from django.utils import timezone

from delayhub.clock import due_ms
from delayhub.engine import TimerLane
from tasksapp.models.job_id import new_job_id
from tasksapp.timers.arming import ensure_timers
from tasksapp.timers.timer import Timer
from tests.integration.tasksapp.stored_timers import timers_ms

SOON = timezone.now() + timedelta(minutes=5)


def timer(**fields: Any) -> Timer:
    made: Timer = Timer("delayhub.timers", "order.close", new_job_id(), SOON, 5)._replace(**fields)
    return made


def test_what_is_missing_is_added_and_the_rest_is_left(lane: TimerLane) -> None:
    first, second = timer(), timer(priority=2)
    assert ensure_timers([first]) == ["added"]

    assert sorted(ensure_timers([first, second])) == ["added", "left"]

    assert timers_ms(lane) == {str(one.job_id): due_ms(SOON) for one in (first, second)}


def test_a_timer_that_would_fire_too_late_is_pulled(lane: TimerLane) -> None:
    late = timer(next_run_at=SOON + timedelta(minutes=5))
    ensure_timers([late])

    assert ensure_timers([late._replace(next_run_at=SOON)]) == ["pulled"]


def test_nothing_is_asked_for_nothing() -> None:
    assert ensure_timers([]) == []


def test_without_redis_it_raises_for_the_loader_to_try_again(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}

    with pytest.raises(redis.RedisError):
        ensure_timers([timer()])
