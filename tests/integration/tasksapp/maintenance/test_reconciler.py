"""Timers and rows compared, and mended."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane, due_ms
from tasksapp.jobs.creation import create
from tasksapp.maintenance.reconciler import Difference, Reconciler
from tasksapp.models import BizType, Job
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.stored_jobs import waiting
from tests.integration.tasksapp.stored_timers import spoil

pytestmark = pytest.mark.django_db(transaction=True)


def test_redis_in_step_has_no_difference(biz_type: BizType) -> None:
    waiting(1_500)
    waiting(3, delay=timedelta(days=1))

    difference = Reconciler(using="default", mend=False).compare(biz_type)

    assert difference == Difference(rows=1_500, timers=1_500)


def test_what_differs_is_named_and_mended(biz_type: BizType, lane: TimerLane) -> None:
    waiting(5)
    missing, late, stray = spoil(lane)

    looked = Reconciler(using="default", mend=False).compare(biz_type)
    mended = Reconciler(using="default", mend=True).compare(biz_type)
    after = Reconciler(using="default", mend=False).compare(biz_type)

    assert (sorted(looked.missing), sorted(looked.late), looked.stray) == (missing, late, stray)
    assert (sorted(mended.missing), sorted(mended.late), mended.stray) == (missing, late, stray)
    assert after == Difference(rows=9, timers=9)


def test_a_leased_timer_is_no_difference(biz_type: BizType, lane: TimerLane) -> None:
    (job_id,) = waiting(1)
    lane.put("order.close", [(str(job_id), due_ms(timezone.now()) - 1_000)])
    assert lane.claim().batches

    assert Reconciler(using="default", mend=False).compare(biz_type).is_none


def test_a_paused_biz_type_needs_no_timers(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    paused = make_biz_type("order.close", paused_until=timezone.now() + timedelta(days=1))
    lane.cancel("order.close", [str(job_id) for job_id in waiting(3)])

    difference = Reconciler(using="default", mend=True).compare(paused)

    assert difference == Difference(is_shut=True)
    assert lane.count() == 0


def test_overdue_rows_are_looked_at_too(biz_type: BizType, lane: TimerLane) -> None:
    past = timezone.now() - timedelta(minutes=5)
    gone, held, put_off, under_way = (create("order.close", due_at=past).job_id for _ in range(4))
    assert lane.claim(4).batches  # all are leased
    lane.cancel("order.close", [str(gone), str(put_off), str(under_way)])
    lane.put("order.close", [(str(put_off), due_ms(timezone.now() + timedelta(minutes=10)))])
    Job.objects.filter(id=under_way).update(lease_until=timezone.now() + timedelta(minutes=5))

    difference = Reconciler(using="default", mend=False).compare(biz_type)

    assert (difference.rows, difference.overdue) == (4, 4)
    assert (difference.missing, difference.late) == ([gone], [put_off])
    assert held not in difference.missing
