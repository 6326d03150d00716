"""What an operation's page says of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from delayhub.testing import MovableClock, without_timers
from tasksapp import operations
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import BizType, Operation
from tasksapp.operations.runner import Runner
from tasksapp.stats.delivery_health import DeliveryHealth, DeliveryState
from tests.integration.tasksapp.operation_runs import ADA, dead_jobs, started, turns

pytestmark = pytest.mark.django_db(transaction=True)
FINE = DeliveryHealth(state=DeliveryState.OK)


def long_ago(operation: Operation) -> Operation:
    """Nothing has moved for a minute."""
    Operation.objects.filter(pk=operation.pk).update(updated_at=timezone.now() - timedelta(minutes=1))
    operation.refresh_from_db()
    return operation


def test_it_says_when_it_will_be_done(biz_type: BizType) -> None:
    dead_jobs(biz_type, 100)
    operation, clock = started(biz_type="order.close", rate_per_second=5), MovableClock()
    given = turns(clock)
    for _ in range(5):
        given.run_once()
        clock.advance(seconds=1)
    operation.refresh_from_db()

    shown = operations.progress(operation)

    assert shown.done + shown.waiting == 100
    assert shown.per_second == pytest.approx(5, rel=0.7)
    assert shown.finishes_at is not None
    assert shown.finishes_at - timezone.now() == pytest.approx(
        timedelta(seconds=shown.waiting / (shown.per_second or 1)), abs=timedelta(seconds=1)
    )
    assert shown.sentence.startswith(f"Runs: {shown.done} of 100 jobs, ")


def test_a_slow_pace_is_measured_by_its_last_jobs(biz_type: BizType) -> None:
    dead_jobs(biz_type, 10)
    operation, clock = started("drop", biz_type="order.close", rate_per_second=0.01), MovableClock()
    given = turns(clock)
    for _ in range(25):
        given.run_once()
        clock.advance(seconds=11)
    operation.refresh_from_db()

    assert operation.done == 3
    assert operations.progress(operation).per_second == pytest.approx(0.01, rel=0.7)


@pytest.mark.parametrize("per_second", [1e-12, 5e-324])
def test_where_no_day_is_so_late_it_says_none(biz_type: BizType, per_second: float) -> None:
    cursor = {"per_second": per_second, "turn_at": 0}
    operation = Operation(verb="drop", job_filter={}, state="running", planned=10, cursor=cursor)
    operation.updated_at = timezone.now()

    assert operations.progress(operation).finishes_at is None


def test_it_says_why_its_pace_is_not_reached(biz_type: BizType) -> None:
    dead_jobs(biz_type, 400)
    operation, clock = started(biz_type="order.close", rate_per_second=1_000), MovableClock()
    given = turns(clock)
    for _ in range(4):
        given.run_once()
        clock.advance(seconds=1)
    operation.refresh_from_db()

    sentence = operations.progress(operation).sentence

    # Nothing delivers its jobs here: they stand in line.
    assert sentence.endswith("Not at its pace of 1,000: with more, jobs of order.close would begin late.")


def test_a_pace_for_which_turns_have_no_time_says_so(biz_type: BizType) -> None:
    dead_jobs(biz_type, 100)
    operation, clock = started("drop", biz_type="order.close", rate_per_second=100_000), MovableClock()
    runner = Runner(using="default", clock=clock)
    runner._size.batch = 2  # as a slow database makes it
    for _ in range(3):
        clock.advance(seconds=1)
        operation.refresh_from_db()
        runner.run_once(operation, until=clock.monotonic())
    operation.refresh_from_db()

    sentence = operations.progress(operation).sentence

    assert sentence.endswith("Not at its pace of 100,000: the database changes no more in the time of operations.")


@pytest.mark.parametrize(
    ("why", "per_second", "said"),
    [
        ("limit", 3.0, "Not at its pace of 10: the limits of a leave no more beside its other jobs."),
        ("late", 3.0, "Not at its pace of 10: with more, jobs of a would begin late."),
        ("time", 3.0, "Not at its pace of 10: the database changes no more in the time of operations."),
        ("late", 8.0, "Runs: 5 of 9 jobs, 8 a second."),
    ],
)
def test_what_holds_it_is_said_only_below_its_pace(why: str, per_second: float, said: str) -> None:
    cursor = {"turn_at": 1, "per_second": per_second, "holds": {"why": why, "biz_type": "a"}}
    operation = Operation(verb="redrive", state="running", rate_per_second=10, planned=9, done=5, cursor=cursor)
    operation.updated_at = timezone.now()

    assert operations.progress(operation).sentence.endswith(said)


def test_it_says_that_no_worker_is_there(biz_type: BizType) -> None:
    operation = long_ago(operations.plan("drop", JobFilter(), by=ADA))

    sentence = operations.progress(operation).sentence

    assert sentence.startswith("Nothing moves: no job is delivered: no worker takes the timers")


def test_it_says_that_redis_is_away(biz_type: BizType) -> None:
    operation = long_ago(started("drop", biz_type="order.close"))

    with without_timers():
        sentence = operations.progress(operation).sentence

    assert sentence.startswith("Nothing moves: Redis does not answer")


def test_it_asks_no_server_while_things_move(biz_type: BizType) -> None:
    operation = operations.plan("drop", JobFilter(), by=ADA)

    def never() -> DeliveryHealth:
        raise AssertionError("it was asked")

    assert operations.progress(operation, health=never).sentence == "Counting: 0 jobs so far."
    assert operations.progress(long_ago(operation), health=lambda: FINE).sentence == "Counting: 0 jobs so far."


def test_each_end_has_its_sentence() -> None:
    def sentence(**fields: object) -> str:
        return operations.progress(Operation(**{"verb": "drop", "cursor": {}, "done": 1_200, **fields})).sentence

    assert sentence(state="done") == "Done: 1,200 jobs were changed."
    assert sentence(state="done", left=3).endswith("3 had changed meanwhile and were left alone.")
    assert sentence(state="done", left=1, state_reason="Others held it.").endswith("Others held it.")
    assert sentence(state="stopped", left=9, state_reason="stopped by ada").endswith("Reason: stopped by ada.")
    assert sentence(state="failed", state_reason="too wide") == "Failed after 1,200 jobs: too wide."
