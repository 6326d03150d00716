"""What holds a running operation up, and how fast it goes: trials, pauses, receivers that are down, rates."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane
from delayhub.testing import MovableClock
from tasksapp import jobs, operations
from tasksapp.biz_types.verbs import pause, resume
from tasksapp.models import Attempt, BizType, Job, Operation, Status
from tests.integration.tasksapp.operation_runs import (
    dead_jobs,
    started,
    turns,
    worked_off,
)
from tests.job_rows import job_row

pytestmark = pytest.mark.django_db(transaction=True)


# ------------------------------------------------------------ the trial


def attempted(operation: Operation, *, ok: int, failed: int, clock: MovableClock) -> None:
    """First attempts of so many of its jobs have ended."""
    waiting = Job.objects.filter(operation_id=operation.pk, status=Status.PENDING).order_by("id")
    for number, job in enumerate(waiting[: ok + failed]):
        good = number < ok
        Attempt.objects.create(
            job=job,
            number=1,
            started_at=timezone.now() + timedelta(seconds=1),
            duration_ms=3,
            lateness_ms=0,
            error="" if good else "http 503",
        )
        if good:
            Job.objects.filter(id=job.id).update(status=Status.SUCCEEDED, finished_at=timezone.now())


def test_the_others_go_when_the_trial_succeeds(biz_type: BizType) -> None:
    dead_jobs(biz_type, 100)
    operation, clock = started(biz_type="order.close", trial_jobs=10, trial_percent=80), MovableClock()
    given = turns(clock)

    for _ in range(3):
        given.run_once()
        clock.advance(seconds=1)
    operation.refresh_from_db()
    assert (operation.done, operations.progress(operation).trial) == (10, "running")
    assert "0 of 10 first attempts" in operations.progress(operation).sentence

    attempted(operation, ok=8, failed=2, clock=clock)
    worked_off(operation, clock=clock)

    assert (operation.state, operation.done) == ("done", 100)
    assert operations.progress(operation).trial == "passed"


def test_no_others_go_when_the_trial_fails(biz_type: BizType) -> None:
    dead_jobs(biz_type, 100)
    operation, clock = started(biz_type="order.close", trial_jobs=10, trial_percent=80), MovableClock()
    given = turns(clock)
    given.run_once()

    # three failures of ten are known to be too many before the others have ended
    attempted(operation, ok=0, failed=3, clock=clock)
    given.run_once()

    operation.refresh_from_db()
    assert (operation.state, operation.done, operation.left) == ("stopped", 10, 90)
    assert operation.state_reason == (
        "its trial failed: of 10 first attempts 3 failed; 80 of a hundred were to succeed"
    )
    assert Job.objects.filter(status=Status.DEAD).count() == 90


def test_jobs_of_the_trial_that_somebody_called_off_do_not_count(biz_type: BizType) -> None:
    dead_jobs(biz_type, 20)
    operation, clock = started(biz_type="order.close", trial_jobs=5, trial_percent=100), MovableClock()
    given = turns(clock)
    given.run_once()

    for job in Job.objects.filter(operation_id=operation.pk)[:3]:
        jobs.cancel(job.id)
    attempted(operation, ok=2, failed=0, clock=clock)
    worked_off(operation, clock=clock)

    assert (operation.state, operation.done) == ("done", 20)


# ------------------------------------------------------------ what holds it up


def test_a_paused_biz_type_holds_it_up(biz_type: BizType) -> None:
    dead_jobs(biz_type, 5)
    operation, clock = started(biz_type="order.close"), MovableClock()
    pause(biz_type)
    turns(clock).run_once()

    operation.refresh_from_db()
    assert (operation.done, operations.progress(operation).sentence) == (0, "Waits: order.close is paused.")
    resume(BizType.objects.get())
    worked_off(operation, clock=clock)
    assert operation.done == 5


def test_a_receiver_that_is_down_holds_it_up(biz_type: BizType, lane: TimerLane) -> None:
    dead_jobs(biz_type, 5)
    operation, clock = started(biz_type="order.close"), MovableClock()
    breaker = lane.keys.queue("order.close").breaker
    lane.client.set(breaker, f"open:{clock.now_ms() + 30_000}:shop.example")
    turns(clock).run_once()

    operation.refresh_from_db()
    assert operation.done == 0
    assert "the receiver of order.close is down" in operations.progress(operation).sentence
    lane.client.delete(breaker)
    worked_off(operation, clock=clock)
    assert operation.done == 5


def test_verbs_that_start_nothing_do_not_wait_for_the_receiver(biz_type: BizType, lane: TimerLane) -> None:
    dead_jobs(biz_type, 5)
    pause(biz_type)

    assert worked_off(started("drop", biz_type="order.close")).done == 5


def test_no_more_go_than_the_rate_leaves_free_beside_fresh_jobs(biz_type: BizType) -> None:
    BizType.objects.update(delivery_rate=100)
    dead_jobs(biz_type, 1_000)
    # 60 a second are fresh ones
    Job.objects.bulk_create([job_row(biz_type, due_in=timedelta(seconds=number / 60)) for number in range(120)])
    operation, clock = started(biz_type="order.close"), MovableClock()

    turns(clock).run_once()

    operation.refresh_from_db()
    assert 10 <= operation.done <= 2 * (100 - 60)


def test_where_the_receiver_does_not_keep_up_fewer_go(biz_type: BizType) -> None:
    dead_jobs(biz_type, 5_000)
    started(biz_type="order.close")
    clock = MovableClock()
    given = turns(clock)
    given.run_once()
    before = Operation.objects.get().cursor["walks"][0]["feed"]

    # nothing was delivered, so what went is behind by now
    clock.advance(seconds=3)
    given.run_once()

    assert Operation.objects.get().cursor["walks"][0]["feed"] == before / 2
