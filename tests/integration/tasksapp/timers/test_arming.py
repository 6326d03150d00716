"""Timers are put into Redis, moved and taken away; a row decides, so nothing here raises."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from delayhub.clock import due_ms
from delayhub.engine import TimerLane
from tasksapp.models import BizType, Job, Status
from tasksapp.models.job_id import new_job_id
from tasksapp.timers import arming
from tasksapp.timers.timer import Timer, grouped
from tests.integration.tasksapp.stored_timers import timers_ms
from tests.job_rows import job_row

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


def timer(at: datetime, *, priority: int = 5) -> Timer:
    return Timer("delayhub.timers", "order.close", new_job_id(), at, priority)


def test_timers_in_the_near_window_are_set_and_others_are_left_to_the_loader(lane: TimerLane) -> None:
    now = timezone.now()
    near, far = timer(now + MINUTE), timer(now + timedelta(days=1))

    assert arming.arm(grouped([near, far]))

    assert timers_ms(lane) == {str(near.job_id): due_ms(near.next_run_at)}


def test_a_lane_is_listed_before_any_worker_has_declared_it(lane: TimerLane) -> None:
    assert lane.client.smembers("delayhub:queues") == set()

    with ThreadPoolExecutor(1) as fresh_thread:
        fresh_thread.submit(arming.arm, grouped([timer(timezone.now() + MINUTE)])).result()

    assert lane.client.smembers("delayhub:queues") == {b"delayhub.timers"}


def test_without_a_near_timer_redis_is_not_asked(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}

    assert arming.arm(grouped([timer(timezone.now() + timedelta(days=1))]))


def test_arming_never_puts_a_timer_off(lane: TimerLane) -> None:
    early = timer(timezone.now() + MINUTE)
    arming.arm(grouped([early]))

    arming.arm(grouped([early._replace(next_run_at=early.next_run_at + MINUTE)]))

    assert timers_ms(lane) == {str(early.job_id): due_ms(early.next_run_at)}


def test_moving_puts_a_timer_exactly_there_or_takes_it_out_of_the_window(lane: TimerLane) -> None:
    later, gone = timer(timezone.now() + MINUTE), timer(timezone.now() + MINUTE)
    arming.arm(grouped([later, gone]))
    later = later._replace(next_run_at=later.next_run_at + MINUTE)

    assert arming.move([later, gone._replace(next_run_at=gone.next_run_at + timedelta(days=1))])

    assert timers_ms(lane) == {str(later.job_id): due_ms(later.next_run_at)}


def test_timers_are_taken_away(lane: TimerLane) -> None:
    timers = [timer(timezone.now() + MINUTE) for _ in range(3)]
    arming.arm(grouped(timers))

    assert arming.forget(timers[:2])

    assert list(timers_ms(lane)) == [str(timers[2].job_id)]


def test_timers_follow_their_rows(biz_type: BizType, lane: TimerLane) -> None:
    rows = [job_row(biz_type, due_in=MINUTE) for _ in range(2)]
    arming.arm(grouped(Timer.of(row, biz_type) for row in rows))
    moved, cancelled = rows
    moved.next_run_at += MINUTE
    cancelled.status = Status.CANCELLED

    arming.follow([moved, cancelled])

    assert timers_ms(lane) == {str(moved.id): due_ms(moved.next_run_at)}


def test_without_redis_each_says_so_and_none_raises(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}
    near = timer(timezone.now() + MINUTE)

    assert not arming.arm(grouped([near]))
    assert not arming.move([near])
    assert not arming.forget([near])
    arming.follow([Job(status=Status.CANCELLED, biz_type=BizType(code="order.close"), next_run_at=near.next_run_at)])


def test_the_creator_arms_a_little_beyond_the_loaders_window(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "NEAR_WINDOW_SECONDS": 60}

    ahead = arming.window_end() - timezone.now()

    assert timedelta(seconds=60) < ahead <= timedelta(seconds=60) + arming.WINDOW_MARGIN
