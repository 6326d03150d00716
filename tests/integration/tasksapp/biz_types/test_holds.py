"""Why due jobs do not go out, in words: asked of the rows and of Redis."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis
from django.utils import timezone

from delayhub.clock import due_ms
from delayhub.engine import TimerLane
from tasksapp.biz_types.holds import holds, open_breakers
from tasksapp.models import UNTIL_RESUMED, BizType
from tasksapp.timers import lanes
from tests.fixture_types import MakeBizType
from tests.redis_time import redis_now_ms

pytestmark = pytest.mark.django_db


def reason(biz_type: BizType) -> str:
    return holds([biz_type], now=timezone.now()).get(biz_type.code, "")


def set_breaker(lane: TimerLane, state: str, *, seconds: float) -> None:
    at = due_ms(timezone.now() + timedelta(seconds=seconds))
    lane.client.set(lane.keys.queue("order.close").breaker, f"{state}:{at}:shop.example")


def test_nothing_holds_the_jobs_of_an_open_biz_type(biz_type: BizType) -> None:
    assert holds([biz_type], now=timezone.now()) == {}


def test_a_disabled_biz_type_holds_its_jobs(make_biz_type: MakeBizType) -> None:
    assert reason(make_biz_type("a", enabled=False)) == "a is disabled"


def test_a_pause_holds_its_jobs_until_its_end(make_biz_type: MakeBizType) -> None:
    until = timezone.now() + timedelta(hours=1)

    assert reason(make_biz_type("a", paused_until=UNTIL_RESUMED)) == "a is paused until somebody resumes it"
    assert f"b is paused until {until:%Y-%m-%d}" in reason(make_biz_type("b", paused_until=until))
    assert reason(make_biz_type("c", paused_until=timezone.now())) == ""


def test_a_pause_says_who_and_why(make_biz_type: MakeBizType) -> None:
    held = make_biz_type("a", paused_until=UNTIL_RESUMED, paused_by="ada", pause_reason="db move")

    assert reason(held) == "a is paused by ada until somebody resumes it: db move"


def test_an_open_breaker_holds_its_jobs(biz_type: BizType, lane: TimerLane) -> None:
    set_breaker(lane, "open", seconds=30)
    assert "the receiver of order.close is down (its breaker is open), the next try is in" in reason(biz_type)

    set_breaker(lane, "open", seconds=-1)
    assert "one job at a time" in reason(biz_type)

    set_breaker(lane, "healed", seconds=-1)
    assert reason(biz_type) == ""


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, ""),  # its due jobs are found in the database
        ({"delivery_rate": 5.0}, "the rate and slots are counted there"),
        ({"max_in_flight": 5}, "the rate and slots are counted there"),
        ({"target": BizType.Target.CELERY, "task_name": "shop.close"}, "messages of tasks go through it"),
    ],
)
def test_what_is_counted_in_redis_waits_for_one_that_does_not_answer(
    biz_type: BizType, settings: Any, fields: dict[str, Any], said: str
) -> None:
    for name, value in fields.items():
        setattr(biz_type, name, value)
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}
    lanes.try_again()

    found = reason(biz_type)
    assert said in found
    assert bool(said) == ("Redis does not answer" in found)


def test_only_breakers_that_are_open_are_told_apart_from_no_answer(
    biz_type: BizType, lane: TimerLane, settings: Any
) -> None:
    set_breaker(lane, "open", seconds=30)
    assert set(open_breakers([biz_type]) or ()) == {"order.close"}

    set_breaker(lane, "healed", seconds=-1)
    assert open_breakers([biz_type]) == {}

    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}
    lanes.try_again()
    assert open_breakers([biz_type]) is None


def test_a_biz_type_that_is_pulled_is_held_while_no_puller_asks(
    make_biz_type: MakeBizType, redis_client: redis.Redis
) -> None:
    """``pullers`` reads when the lane of the biz type was last asked."""
    pulled = make_biz_type("report", url="", target="pull")
    claimed = "delayhub:{@pull:report}:@claimed"

    never = holds([pulled], now=timezone.now())["report"]
    redis_client.set(claimed, int(redis_now_ms(redis_client)) - 121_000)
    lately = holds([pulled], now=timezone.now())["report"]
    redis_client.set(claimed, int(redis_now_ms(redis_client)) - 60_000)

    assert never == "no puller has ever asked for jobs of report"
    assert lately.startswith("no puller has asked for jobs of report since ")
    assert holds([pulled], now=timezone.now()) == {}
