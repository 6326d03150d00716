"""What people and callers do to operations, before any job is changed, and what the audit has of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp import operations
from tasksapp.access.actors import Actor
from tasksapp.access.keys import issue_key
from tasksapp.errors import InvalidJob, OperationNotFound, WrongOperationState
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import ApiKey, AuditEntry, BizType, Operation, Status
from tasksapp.operations import Starter
from tasksapp.operations.starter import lost_right

pytestmark = pytest.mark.django_db
ADA = Starter(Actor("ada", "10.0.0.7"))
DEAD = JobFilter(status=Status.DEAD, biz_type="order.close")


def planned(biz_type: BizType, verb: str = "redrive", *, jobs: int = 5_000, **fields: Any) -> Operation:
    operation = operations.plan(verb, JobFilter(biz_type=biz_type.code), by=ADA, **fields)
    Operation.objects.filter(pk=operation.pk).update(state="planned", planned=jobs)
    return operation


def test_a_plan_is_a_row_that_waits_to_be_counted(biz_type: BizType) -> None:
    operation = operations.plan("redrive", DEAD, by=ADA, reason="the receiver was down")

    operation.refresh_from_db()
    assert (operation.state, operation.biz_type, operation.planned) == ("planning", biz_type, None)
    assert operation.job_filter == {"status": "dead", "biz_type": "order.close"}
    assert (operation.started_by, operation.reason) == ("ada", "the receiver was down")


@pytest.mark.parametrize(
    ("verb", "given", "field"),
    [
        ("explode", {}, "verb"),
        ("redrive", {"job_filter": JobFilter(status=Status.PENDING)}, "status"),
        ("redrive", {"job_filter": JobFilter(biz_type="unknown")}, "biz_type"),
        ("redrive", {"due_at": timezone.now()}, "due_at"),
        ("reschedule", {}, "due_at"),
        ("cancel", {"reason": "x" * 501}, "reason"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(biz_type: BizType, verb: str, given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        operations.plan(verb, **{"job_filter": JobFilter(biz_type="order.close"), **given}, by=ADA)

    assert caught.value.field == field
    assert not Operation.objects.exists()


def test_a_plan_by_a_key_that_was_deleted_meanwhile_is_without_it(biz_type: BizType) -> None:
    row, _ = issue_key("shop")
    caller = Starter(Actor("shop"), api_key_id=row.pk)
    row.delete()

    operation = operations.plan("redrive", DEAD, by=caller)

    assert operation.api_key_id is None
    assert lost_right(operation, kind=operation.cursor["starter"], using="default") == "the API key shop was deleted"


@pytest.mark.parametrize(
    ("taken", "why"),
    [
        ({"scopes": ["jobs:read"]}, "the API key shop may not act on jobs any more"),
        ({"expires_at": timezone.now() - timedelta(seconds=1)}, "the API key shop has expired"),
        ({"enabled": False}, "the API key shop is disabled"),
        ({"scopes": ["jobs:act"], "expires_at": timezone.now() + timedelta(hours=1)}, ""),
    ],
)
def test_a_key_goes_on_only_as_long_as_it_may(biz_type: BizType, taken: dict[str, Any], why: str) -> None:
    row, _ = issue_key("shop")
    operation = operations.plan("redrive", DEAD, by=Starter(Actor("shop"), api_key_id=row.pk))

    ApiKey.objects.update(**taken)

    assert lost_right(operation, kind=operation.cursor["starter"], using="default") == why


def test_a_started_operation_runs_at_its_pace(biz_type: BizType) -> None:
    by_rate, by_time, at_once = planned(biz_type), planned(biz_type), planned(biz_type)

    started = operations.start(by_rate.pk, by=ADA, rate_per_second=74, trial_jobs=10, trial_percent=80)
    spread = operations.start(by_time.pk, by=ADA, spread_seconds=600)
    fast = operations.start(at_once.pk, by=ADA)

    assert (started.state, started.rate_per_second, started.trial_jobs, started.trial_percent) == (
        "running",
        74,
        10,
        80,
    )
    assert spread.rate_per_second == pytest.approx(5_000 / 600)
    assert fast.rate_per_second is None


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"rate_per_second": 0}, "rate_per_second"),
        ({"rate_per_second": float("nan")}, "rate_per_second"),
        ({"rate_per_second": True}, "rate_per_second"),
        ({"rate_per_second": 10**400}, "rate_per_second"),
        ({"rate_per_second": 1, "spread_seconds": 60}, "rate_per_second"),
        ({"spread_seconds": 0}, "spread_seconds"),
        ({"trial_jobs": -1}, "trial_jobs"),
        ({"trial_jobs": 1.5}, "trial_jobs"),
        ({"trial_percent": 0}, "trial_percent"),
    ],
)
def test_values_that_cannot_be_are_refused(biz_type: BizType, given: dict[str, Any], field: str) -> None:
    operation = planned(biz_type)

    with pytest.raises(InvalidJob) as caught:
        operations.start(operation.pk, by=ADA, **given)

    assert caught.value.field == field
    assert Operation.objects.get(pk=operation.pk).state == "planned"


@pytest.mark.parametrize("verb", ["cancel", "drop"])
def test_to_call_many_jobs_off_takes_their_number(biz_type: BizType, verb: str) -> None:
    many, few = planned(biz_type, verb, jobs=1_001), planned(biz_type, verb, jobs=1_000)

    for typed in [None, 1_000, True, "1001", -1]:
        with pytest.raises(InvalidJob) as caught:
            operations.start(many.pk, by=ADA, typed_count=typed)  # type: ignore[arg-type]  # what a form may send
        assert caught.value.field == "typed_count"

    assert operations.start(many.pk, by=ADA, typed_count=1_001).state == "running"
    assert operations.start(few.pk, by=ADA).state == "running"


def test_only_jobs_that_run_at_once_have_a_trial(biz_type: BizType) -> None:
    with pytest.raises(InvalidJob, match="tried first"):
        operations.start(planned(biz_type, "drop", jobs=10).pk, by=ADA, trial_jobs=5)


def test_an_operation_that_has_ended_takes_no_verb(biz_type: BizType) -> None:
    operation = planned(biz_type)
    operations.stop(operation.pk, by=ADA, reason="not today")

    for verb in (
        lambda: operations.start(operation.pk, by=ADA),
        lambda: operations.stop(operation.pk, by=ADA),
        lambda: operations.repace(operation.pk, by=ADA, rate_per_second=1),
    ):
        with pytest.raises(WrongOperationState, match="stopped"):
            verb()
    operation.refresh_from_db()
    assert (operation.state_reason, operation.left) == ("stopped by ada: not today", 5_000)


def test_an_operation_that_is_not_there_takes_no_verb() -> None:
    with pytest.raises(OperationNotFound):
        operations.start(17, by=ADA)


def test_who_starts_it_is_its_starter(biz_type: BizType, django_user_model: Any) -> None:
    bob = django_user_model.objects.create_user("bob")
    operation = planned(biz_type)

    operations.start(operation.pk, by=Starter(Actor("bob"), user_id=bob.pk))

    operation.refresh_from_db()
    assert (operation.started_by, operation.user_id, operation.cursor["starter"]) == ("bob", str(bob.pk), "user")


def test_each_deed_has_one_entry_in_the_record(biz_type: BizType) -> None:
    operation = planned(biz_type, reason="the receiver was down")
    operations.start(operation.pk, by=ADA, rate_per_second=5)
    operations.repace(operation.pk, by=ADA, rate_per_second=None)
    operations.stop(operation.pk, by=ADA, reason="enough")

    entries = AuditEntry.objects.filter(operation_id=operation.pk).order_by("id")
    assert [entry.verb for entry in entries] == [
        "operation.plan",
        "operation.start",
        "operation.repace",
        "operation.stop",
    ]
    assert {(entry.actor, entry.address, entry.biz_type_id) for entry in entries} == {("ada", "10.0.0.7", biz_type.id)}
    assert entries[2].before == {"rate_per_second": 5.0}


def test_the_current_ones_are_those_that_have_not_ended(biz_type: BizType, make_biz_type: Any) -> None:
    other = make_biz_type("other")
    ended, mine, theirs = planned(biz_type), planned(biz_type), planned(other)
    every = operations.plan("redrive", JobFilter(ended_from=timezone.now() - timedelta(days=1)), by=ADA)
    operations.stop(ended.pk, by=ADA)

    assert operations.current() == [mine, theirs, every]
    assert operations.current(biz_type=biz_type) == [mine, every]
