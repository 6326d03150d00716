"""Timers and rows compared, and mended."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.core.management import CommandError
from django.utils import timezone

from delayhub.engine import TimerLane, due_ms
from tasksapp.jobs.creation import JobRequest, create_many
from tasksapp.maintenance.reconciler import Difference, Reconciler
from tasksapp.models import BizType, Job, Status
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.commands import run_command

pytestmark = pytest.mark.django_db(transaction=True)


def jobs(count: int, *, delay: timedelta = timedelta(minutes=10)) -> list[UUID]:
    made = create_many([JobRequest(biz_type="order.close", delay=delay) for _ in range(count)])
    return [one.job_id for one in made]  # type: ignore[union-attr]  # none is rejected


def spoil(lane: TimerLane) -> tuple[list[UUID], list[UUID], list[UUID]]:
    """Jobs whose timer is missing, jobs whose timer is late, and timers without a job."""
    missing, late, stray = jobs(2), jobs(2), [uuid4(), *jobs(1)]
    lane.cancel("order.close", [str(job_id) for job_id in missing])
    far = due_ms(timezone.now() + timedelta(minutes=50))
    lane.put("order.close", [(str(job_id), far) for job_id in [*late, stray[0]]])
    Job.objects.filter(id=stray[1]).update(status=Status.CANCELLED)
    return missing, late, sorted(stray)


def test_redis_in_step_has_no_difference(biz_type: BizType) -> None:
    jobs(1_500)
    jobs(3, delay=timedelta(days=1))

    difference = Reconciler(using="default", mend=False).compare(biz_type)

    assert difference == Difference(rows=1_500, timers=1_500)


def test_what_differs_is_named_and_mended(biz_type: BizType, lane: TimerLane) -> None:
    jobs(5)
    missing, late, stray = spoil(lane)

    looked = Reconciler(using="default", mend=False).compare(biz_type)
    mended = Reconciler(using="default", mend=True).compare(biz_type)
    after = Reconciler(using="default", mend=False).compare(biz_type)

    assert (sorted(looked.missing), sorted(looked.late), looked.stray) == (missing, late, stray)
    assert (sorted(mended.missing), sorted(mended.late), mended.stray) == (missing, late, stray)
    assert after == Difference(rows=9, timers=9)


def test_a_leased_timer_is_no_difference(biz_type: BizType, lane: TimerLane) -> None:
    (job_id,) = jobs(1)
    lane.put("order.close", [(str(job_id), due_ms(timezone.now()) - 1_000)])
    assert lane.claim().batches

    assert Reconciler(using="default", mend=False).compare(biz_type).is_none


def test_a_paused_biz_type_needs_no_timers(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    paused = make_biz_type("order.close", paused_until=timezone.now() + timedelta(days=1))
    lane.cancel("order.close", [str(job_id) for job_id in jobs(3)])

    assert Reconciler(using="default", mend=True).compare(paused).is_none
    assert lane.count() == 0


def test_the_command_mends_and_says_what(biz_type: BizType, lane: TimerLane) -> None:
    spoil(lane)

    assert run_command("reconcile").splitlines() == [
        "order.close: 4 rows, 6 timers; 2 missing, 2 late, 2 stray",
        "mended",
    ]
    assert run_command("reconcile").splitlines() == [
        "order.close: 4 rows, 4 timers; 0 missing, 0 late, 0 stray",
        "Redis is in step with the database",
    ]


def test_a_dry_run_fails_where_something_differs_and_changes_nothing(biz_type: BizType, lane: TimerLane) -> None:
    spoil(lane)

    for _ in range(2):
        with pytest.raises(CommandError, match="Redis differs") as failed:
            run_command("reconcile", "--dry-run")
        assert failed.value.returncode == 1
    run_command("reconcile")
    assert "in step" in run_command("reconcile", "--dry-run")


def test_timers_are_rebuilt_from_the_rows(biz_type: BizType, lane: TimerLane) -> None:
    jobs(1_100)
    jobs(2, delay=timedelta(days=1))
    lane.client.flushall()

    assert run_command("rebuild_timers") == "ensured 1100 timers\n"

    assert lane.count("order.close") == 1_100
    assert run_command("rebuild_timers") == "ensured 1100 timers\n"
    assert lane.count("order.close") == 1_100
