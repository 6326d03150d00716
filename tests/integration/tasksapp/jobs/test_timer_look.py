"""What the page of a job says of its timer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from delayhub.engine import TimerLane
from tasksapp.jobs.timer_look import TimerState, timer_state
from tasksapp.models import BizType, Job
from tests.integration.tasksapp.stored_jobs import in_status

pytestmark = pytest.mark.django_db(transaction=True)


def state() -> TimerState:
    return timer_state(Job.objects.select_related("biz_type").get())


def test_a_job_that_is_due_soon_has_its_timer(biz_type: BizType, lane: TimerLane) -> None:
    job_id = in_status(delay=timedelta(minutes=5))
    assert state() is TimerState.SET

    lane.cancel(biz_type.code, [str(job_id)])
    assert state() is TimerState.MISSING


def test_a_job_that_is_far_ahead_needs_none(biz_type: BizType) -> None:
    in_status(delay=timedelta(days=5))

    assert state() is TimerState.NOT_NEEDED


def test_without_redis_it_is_unknown(biz_type: BizType, settings: Any) -> None:
    in_status(delay=timedelta(minutes=5))
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}

    assert state() is TimerState.UNKNOWN
