"""Biz types that keep one live job of each biz id: creates and redrives, also many at the same moment.

Creates go through ``insert_live_jobs``, and redrives through ``make_live``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from delayhub.clock import due_ms
from delayhub.engine import TimerLane
from tasksapp import jobs
from tasksapp.errors import InvalidJob, OneIsLive
from tasksapp.jobs.creation import Created, JobRequest, Rejected
from tasksapp.models import BizType, IdempotencyKey, Job, Status
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.claiming import claim
from tests.integration.tasksapp.operation_runs import started, worked_off
from tests.integration.tasksapp.stored_jobs import due
from tests.integration.tasksapp.stored_timers import timers_ms
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

#: SQLite lets one writer at a time, so there the same race takes ten times as long.
CREATES = 60 if connection.vendor == "postgresql" else 10


@pytest.fixture
def single(make_biz_type: MakeBizType) -> BizType:
    """A biz type that refuses a second live job of a biz id."""
    return make_biz_type("order.close", one_live="refuse")


def choose(biz_type: BizType, one_live: str) -> None:
    biz_type.one_live = one_live
    biz_type.save()


def dead_job(biz_type: BizType, biz_id: str) -> Job:
    return store_job(biz_type, Status.DEAD, due_in=-timedelta(hours=1), biz_id=biz_id, live_key=biz_id)


def outcome_of(biz_id: str, **fields: Any) -> Created | Rejected:
    (outcome,) = jobs.create_many([JobRequest("order.close", biz_id=biz_id, **fields)])
    return outcome


@pytest.mark.parametrize("one_live", ["refuse", "replace"])
def test_many_creates_at_once_make_one(single: BizType, one_live: str) -> None:
    choose(single, one_live)

    at_once(*[lambda: outcome_of("42", delay=60) for _ in range(CREATES)])

    assert Job.objects.count() == 1


def test_a_second_is_refused_with_the_live_job_until_that_has_ended(single: BizType) -> None:
    first = due(biz_id="42")

    with pytest.raises(OneIsLive, match="keeps one at a time") as refused:
        jobs.create("order.close", biz_id="42", idempotency_key="k")
    claim(first)
    running = outcome_of("42")
    others = [outcome_of("43"), outcome_of(""), outcome_of("")]
    Job.objects.filter(id=first).update(status=Status.SUCCEEDED)
    again = jobs.create("order.close", biz_id="42", idempotency_key="k")

    assert refused.value.job_id == first
    assert isinstance(running, Rejected)
    assert all(isinstance(one, Created) for one in others)
    assert again.created
    assert IdempotencyKey.objects.get().job_id == again.job_id


def test_the_live_job_is_replaced_while_it_waits(single: BizType) -> None:
    choose(single, "replace")
    first = jobs.create("order.close", biz_id="42", delay=60, body={"a": 1})

    second = jobs.create("order.close", biz_id="42", delay=0, body={"a": 2}, priority=1)
    shown = Job.objects.get()
    Job.objects.update(next_run_at=timezone.now() - timedelta(seconds=1))
    claim(first.job_id)

    assert (second.job_id, second.created, second.replaced, second.armed) == (first.job_id, False, True, True)
    assert (shown.body, shown.priority, shown.version) == ('{"a":2}', 1, 2)
    assert shown.next_run_at < timezone.now()
    assert isinstance(outcome_of("42"), Rejected), "it runs"


@pytest.mark.parametrize("one_live", ["replace", "last"])
def test_of_several_in_a_bulk_the_timer_is_that_of_the_last(single: BizType, one_live: str, lane: TimerLane) -> None:
    choose(single, one_live)
    made = jobs.create("order.close", biz_id="42", delay=60)

    for later in (timedelta(days=9), timedelta(0)):  # beyond the near window; or of another priority than the last one
        first = JobRequest("order.close", biz_id="42", delay=later, priority=9)
        jobs.create_many([first, JobRequest("order.close", biz_id="42")])

        assert timers_ms(lane) == {str(made.job_id): due_ms(Job.objects.get().next_run_at)}


def test_a_redrive_beside_a_live_job_is_refused(single: BizType) -> None:
    dead = dead_job(single, "42")
    live = due(biz_id="42")

    with pytest.raises(OneIsLive) as refused:
        jobs.redrive(dead.id)

    assert refused.value.job_id == live
    assert Job.objects.get(id=dead.id).status == Status.DEAD


def test_one_that_collides_does_not_keep_the_others_of_a_batch_from_their_redrive(single: BizType) -> None:
    dead = [dead_job(single, str(number)) for number in range(5)]
    twin = dead_job(single, "3")
    due(biz_id="1")

    outcome = jobs.apply_many(jobs.Verb.REDRIVE, [*(job.id for job in dead), twin.id])

    assert (outcome.changed, outcome.left) == (4, 2)
    assert set(Job.objects.filter(status=Status.DEAD).values_list("biz_id", flat=True)) == {"1", "3"}


def test_an_operation_leaves_out_what_cannot_be_live_and_says_how_many(single: BizType) -> None:
    for number in range(5):
        dead_job(single, str(number))
    dead_job(single, "3")
    due(biz_id="1")
    operation = started(biz_type="order.close")

    worked_off(operation)

    operation.refresh_from_db()
    assert (operation.state, operation.planned, operation.done) == ("done", 5, 4)
    assert operation.state_reason == "Left out, since another job of their biz id is live or it is resolved: 2."


def test_an_idempotency_key_of_a_refused_request_can_be_used_again_and_a_debounce_key_cannot_be(
    single: BizType,
) -> None:
    with pytest.raises(InvalidJob, match="no debounce key"):
        jobs.create("order.close", biz_id="42", debounce_key="k")

    assert jobs.create("order.close", debounce_key="k").created


def test_a_biz_type_says_how_long_a_debounce_may_put_a_job_off(make_biz_type: MakeBizType) -> None:
    make_biz_type("cart.remind", debounce_max_wait=timedelta(minutes=5))
    ids: set[UUID] = set()

    for delay in (60, 1_000, 10_000):
        ids.add(jobs.create("cart.remind", delay=delay, debounce_key="cart-7").job_id)
    job = Job.objects.get()

    assert ids == {job.id}
    # Times of jobs are in ms, rounded up; when a row was made is in µs.
    assert timedelta(minutes=4) < job.next_run_at - job.created_at <= timedelta(minutes=5, milliseconds=1)
