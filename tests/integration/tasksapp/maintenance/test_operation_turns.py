"""Operations as maintenance works them off."""

from __future__ import annotations

from datetime import timedelta
from unittest.mock import Mock

import psycopg
import pytest
from django.db import InternalError
from django.utils import timezone

from delayhub.clock import SystemClock, moment
from delayhub.engine import TimerLane
from delayhub.testing import MovableClock
from tasksapp import jobs, operations
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.maintenance import operation_turns
from tasksapp.maintenance.loader import Loader
from tasksapp.maintenance.thread import MaintenanceThread
from tasksapp.models import AuditEntry, BizType, Job, Operation, Status
from tasksapp.operations.feed import LOOK_AHEAD
from tasksapp.operations.runner import Runner
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.operation_runs import (
    ADA,
    dead_jobs,
    pending_jobs,
    planned,
    started,
    turns,
    until,
    worked_off,
)
from tests.job_rows import store_job
from tests.standing_clock import StandingClock
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def clock() -> StandingClock:
    """The second in which the test began: how many jobs a turn lets go depends on the time to the millisecond."""
    standing = StandingClock()
    standing.seconds = SystemClock().now_ms() // 1000
    return standing


def test_the_jobs_that_match_are_counted(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    dead_jobs(biz_type, 7, error_class="http.503")
    dead_jobs(biz_type, 2, error_class="timeout")
    dead_jobs(make_biz_type("other"), 3, error_class="http.503")
    pending_jobs(biz_type, 4)

    one = planned(biz_type="order.close", error_class="http.503")
    every = planned()

    assert (one.state, one.planned) == ("planned", 7)
    assert every.planned == 12
    assert not Job.objects.exclude(operation_id=None).exists()


@pytest.mark.parametrize(
    ("verb", "before", "after"),
    [
        ("redrive", Status.DEAD, Status.PENDING),
        ("drop", Status.DEAD, Status.DROPPED),
        ("cancel", Status.PENDING, Status.CANCELLED),
        ("run_now", Status.PENDING, Status.PENDING),
    ],
)
def test_each_verb_changes_all_jobs_that_match(biz_type: BizType, verb: str, before: Status, after: Status) -> None:
    for status in Status:
        for _ in range(3):
            store_job(biz_type, status)

    operation = worked_off(started(verb, biz_type="order.close"))

    changed = Job.objects.filter(operation_id=operation.pk)
    assert (operation.state, operation.planned, operation.done, operation.left) == ("done", 3, 3, 0)
    assert {(job.status, job.changed_by, job.version) for job in changed} == {(after, f"op {operation.pk}", 2)}
    assert changed.count() == 3
    assert AuditEntry.objects.filter(operation_id=operation.pk).order_by("id").values_list("verb", "actor").last() == (
        "operation.done",
        f"op {operation.pk}",
    )


def test_rescheduled_jobs_start_at_the_new_time_spread_by_the_pace(biz_type: BizType) -> None:
    pending_jobs(biz_type, 5)
    due = timezone.now().replace(microsecond=0) + timedelta(days=1)

    worked_off(started("reschedule", biz_type="order.close", due_at=due, rate_per_second=2))

    times = Job.objects.order_by("next_run_at").values_list("next_run_at", flat=True)
    assert [at - due for at in times] == [timedelta(seconds=number / 2) for number in range(5)]
    assert set(Job.objects.values_list("due_at", flat=True)) == set(times)


def test_a_job_that_changed_after_the_plan_is_left_alone(biz_type: BizType) -> None:
    changed, died, other = dead_jobs(biz_type, 3)
    operation = planned(biz_type="order.close")
    jobs.redrive(changed.id)
    Job.objects.filter(id=changed.id).update(status=Status.DEAD)
    jobs.drop(died.id)
    dead_jobs(biz_type, 2, updated_at=timezone.now() + timedelta(seconds=1))

    operations.start(operation.pk, by=ADA)
    worked_off(operation)

    assert (operation.state, operation.done, operation.left) == ("done", 1, 2)
    assert [job.id for job in Job.objects.filter(operation_id=operation.pk)] == [other.id]
    assert "had changed meanwhile" in operations.progress(operation).sentence


def test_a_later_verb_takes_the_job_over(biz_type: BizType) -> None:
    (job,) = pending_jobs(biz_type, 1)
    first = worked_off(started("reschedule", biz_type="order.close", due_at=timezone.now() + timedelta(hours=9)))
    assert Job.objects.get().operation_id == first.pk

    second = worked_off(started("run_now", biz_type="order.close"))
    assert Job.objects.get().operation_id == second.pk

    jobs.reschedule(job.id, delay=60)
    assert Job.objects.get().operation_id is None


def test_only_jobs_that_start_soon_are_touched(biz_type: BizType, clock: StandingClock) -> None:
    dead_jobs(biz_type, 200)
    operation, given = started(biz_type="order.close", rate_per_second=20), turns(clock)

    given.run_once()

    operation.refresh_from_db()
    assert operation.done == 31
    latest = Job.objects.filter(operation_id=operation.pk).order_by("-next_run_at")[0]
    assert latest.next_run_at == moment(clock.now_ms()) + LOOK_AHEAD
    clock.seconds += 1
    given.run_once()
    operation.refresh_from_db()
    assert operation.done == 51


def test_a_stopped_operation_changes_nothing_more(biz_type: BizType) -> None:
    dead_jobs(biz_type, 100)
    operation, clock = started(biz_type="order.close", rate_per_second=10), MovableClock()
    given = turns(clock)
    given.run_once()

    operations.stop(operation.pk, by=ADA)
    for _ in range(5):
        clock.advance(seconds=2)
        given.run_once()

    operation.refresh_from_db()
    assert operation.done == Job.objects.filter(status=Status.PENDING).count() == 100 - operation.left < 30
    assert operation.state == "stopped"


def test_another_pace_holds_from_the_next_turn_on(biz_type: BizType, clock: StandingClock) -> None:
    dead_jobs(biz_type, 300)
    operation, given = started(biz_type="order.close", rate_per_second=1 / 3_600), turns(clock)
    given.run_once()

    operations.repace(operation.pk, by=ADA, rate_per_second=50)
    clock.seconds += 1
    given.run_once()

    operation.refresh_from_db()
    assert operation.done == 1 + 76


def test_the_second_of_two_operations_waits_and_names_the_first(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    dead_jobs(biz_type, 50)
    dead_jobs(make_biz_type("other"), 5)
    pending_jobs(biz_type, 5)
    first = started(biz_type="order.close", rate_per_second=5)
    second = started("drop", biz_type="order.close")
    elsewhere, of_others = started(biz_type="other"), started("cancel", biz_type="order.close")

    # On a busy machine the time of a turn is over before it comes to the last of them.
    given = turns()
    for operation in (elsewhere, of_others):
        until(operation, lambda now: now.done == 5, given=given)
    second.refresh_from_db()
    assert second.done == 0
    assert f"operation {first.pk}" in operations.progress(second).sentence
    worked_off(second)
    first.refresh_from_db()
    assert (first.state, first.done, second.done, second.left) == ("done", 50, 0, 50)


def test_a_plan_that_is_not_started_ends_after_a_day(biz_type: BizType) -> None:
    clock = MovableClock()
    operation = planned(biz_type="order.close")

    clock.advance(hours=25)
    turns(clock).run_once()

    operation.refresh_from_db()
    assert (operation.state, operation.state_reason) == ("stopped", "it was planned a day ago and not started")


def test_an_operation_that_cannot_go_on_fails_and_keeps_no_other_from_its_turn(biz_type: BizType) -> None:
    dead_jobs(biz_type, 2)
    broken, sound = started(error_class="http.503"), started("drop", biz_type="order.close")
    Operation.objects.filter(pk=broken.pk).update(
        job_filter={"colour": "red"}, cursor={"walks": [{"biz_type": biz_type.id}]}
    )

    given = turns()
    until(sound, lambda now: now.state == "done", given=given)

    broken.refresh_from_db()
    assert broken.state == "failed"
    assert "colour" in broken.state_reason
    assert sound.done == 2


def test_those_that_wait_keep_no_other_from_its_turn(
    biz_type: BizType, make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation_turns, "MOST", 2)
    dead_jobs(biz_type, 1)
    dead_jobs(make_biz_type("other"), 2)
    BizType.objects.filter(pk=biz_type.pk).update(enabled=False)
    for _ in range(3):
        started(biz_type=biz_type.code)

    assert worked_off(started("drop", biz_type="other")).done == 2


def test_workers_work_operations_off_by_themselves(biz_type: BizType) -> None:
    dead_jobs(biz_type, 3)
    operation = operations.plan("drop", JobFilter(biz_type="order.close"), by=ADA)
    thread = MaintenanceThread(Loader(using="default"))

    def is_after_a_turn(state: str) -> bool:
        assert thread.run_once()
        operation.refresh_from_db()
        return operation.state == state

    wait_until(lambda: is_after_a_turn("planned"))  # at once, unless a turn's time was over
    operations.start(operation.pk, by=ADA)
    wait_until(lambda: is_after_a_turn("done"))

    assert operation.done == 3


def test_timers_follow_the_jobs_that_change(biz_type: BizType, lane: TimerLane) -> None:
    dead_jobs(biz_type, 3)
    operation, clock = started(biz_type="order.close", rate_per_second=10), MovableClock()
    turns(clock).run_once()

    scores = dict(lane.client.zrange(lane.keys.queue("order.close").step_waiting(9), 0, -1, withscores=True))
    rows = Job.objects.filter(operation_id=operation.pk)
    assert {job_id.decode(): int(score) // 16 for job_id, score in scores.items()} == {
        str(job.id): round(job.next_run_at.timestamp() * 1000) for job in rows
    }
    worked_off(started("cancel", biz_type="order.close"), clock=clock)
    assert lane.count("order.close") == 0


def test_operations_that_a_turn_has_no_time_for_come_first_in_the_next(
    make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = ["one", "two", "three"]
    for code in codes:
        dead_jobs(make_biz_type(code), 5)
    every = [started("drop", biz_type=code) for code in codes]
    monkeypatch.setattr(operation_turns, "SHARE", 0.0)
    given = turns()

    taken = [given.run_once() for _ in every]

    assert taken == [1, 1, 1]
    assert Job.objects.filter(status=Status.DROPPED, operation_id__in=[one.pk for one in every]).count() == 15


def test_an_operation_goes_on_after_a_turn_on_a_standby(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    dead_jobs(biz_type, 3)
    operation, given = started("drop", biz_type="order.close"), turns()
    refused = InternalError("cannot execute UPDATE in a read-only transaction")
    refused.__cause__ = psycopg.errors.ReadOnlySqlTransaction()

    with monkeypatch.context() as failing, pytest.raises(InternalError):
        failing.setattr(Runner, "run_once", Mock(side_effect=refused))
        given.run_once()

    assert worked_off(operation).done == 3
