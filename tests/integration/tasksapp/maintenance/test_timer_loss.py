"""Timers that Redis has lost: noticed, and brought back."""

from __future__ import annotations

import pytest
import redis

from delayhub.engine import TimerLane
from tasksapp.jobs.creation import JobRequest, create_many
from tasksapp.maintenance import timer_loss
from tasksapp.maintenance.loader import Loader
from tasksapp.models import BizType
from tests.fixture_types import LoseTimers

pytestmark = pytest.mark.django_db(transaction=True)


def test_timers_are_brought_back_after_a_flush(
    biz_type: BizType, loader: Loader, lane: TimerLane, redis_client: redis.Redis
) -> None:
    create_many([JobRequest(biz_type="order.close", delay=60 + n) for n in range(2_500)])
    loader.run_once()
    redis_client.flushall()

    turn = loader.run_once()

    assert turn.reloaded
    assert turn.entered == lane.count("order.close") == 2_500
    assert not loader.run_once().reloaded


def test_timers_are_brought_back_where_redis_holds_fewer_than_there_are_rows(
    biz_type: BizType, loader: Loader, lane: TimerLane, lose_timers: LoseTimers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timer_loss, "COUNT_SECONDS", 0.0)
    create_many([JobRequest(biz_type="order.close", delay=600 + n) for n in range(5)])
    loader.run_once()
    lose_timers()

    assert loader.run_once().reloaded
    assert lane.count("order.close") == 5


def test_a_redis_that_hides_info_is_no_obstacle(
    biz_type: BizType, loader: Loader, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise redis.ResponseError("unknown command 'INFO'")

    monkeypatch.setattr(redis.Redis, "info", refuse)
    assert loader.run_once().reloaded
    assert not loader.run_once().reloaded

    redis_client.flushall()

    assert loader.run_once().reloaded
