"""How long requests with a debounce key may put a job off."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane, due_ms
from tasksapp import jobs
from tasksapp.errors import InvalidJob, KeyTaken
from tasksapp.jobs.creation import JobRequest, create, create_many
from tasksapp.models import BizType, Job
from tests.integration.tasksapp.stored_timers import timers_ms

pytestmark = pytest.mark.django_db(transaction=True)

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
#: SQLite counts milliseconds where it adds to a time.
ROUNDING = timedelta(milliseconds=1)


def touch(*, delay: timedelta = MINUTE, **fields: Any) -> Job:
    """The job of the key, after one more request."""
    return create("order.close", delay=delay, debounce_key="k", **fields).job


def made_before(job: Job, age: timedelta, *, runs_in: timedelta = MINUTE) -> datetime:
    """Makes the job one that was created so long ago; gives back when that was."""
    now = timezone.now()
    Job.objects.filter(id=job.id).update(created_at=now - age, due_at=now + runs_in, next_run_at=now + runs_in)
    return now - age


@pytest.mark.parametrize(
    ("delay", "given", "longest"),
    [
        # a day, where the caller gives none
        (MINUTE, None, DAY),
        # ten times the delay, in whole days
        (5 * HOUR, None, 3 * DAY),
        (7 * DAY, None, 70 * DAY),
        (MINUTE, 2 * MINUTE, 2 * MINUTE),
        (MINUTE, 90, timedelta(seconds=90)),
    ],
)
def test_no_request_puts_a_job_off_beyond_the_longest_wait(
    biz_type: BizType, lane: TimerLane, delay: timedelta, given: Any, longest: timedelta
) -> None:
    created = made_before(touch(delay=delay), longest - MINUTE / 2, runs_in=MINUTE / 4)

    job = touch(delay=delay, debounce_max_wait=given)

    assert abs(job.due_at - (created + longest)) <= ROUNDING
    assert job.next_run_at == job.due_at
    assert timers_ms(lane) == {str(job.id): due_ms(job.due_at)}


def test_before_that_each_request_puts_it_off(biz_type: BizType) -> None:
    made_before(touch(), DAY - HOUR)

    assert touch().due_at > timezone.now() + MINUTE / 2


def test_after_the_longest_wait_it_keeps_its_time(biz_type: BizType) -> None:
    made_before(touch(), DAY + HOUR, runs_in=MINUTE / 2)
    before = Job.objects.get().next_run_at

    for _ in range(3):
        assert touch().next_run_at == before


def test_a_request_may_still_make_it_earlier_and_is_not_made_earlier_itself(biz_type: BizType) -> None:
    made_before(touch(), 300 * DAY, runs_in=30 * DAY)

    job = touch()

    assert MINUTE / 2 < job.due_at - timezone.now() <= MINUTE


def test_one_that_is_overdue_runs_at_once_and_does_not_count_as_late(biz_type: BizType) -> None:
    made_before(touch(), 3 * DAY, runs_in=-2 * DAY)

    job = touch()

    assert job.next_run_at < timezone.now() - DAY
    assert abs(job.due_at - timezone.now()) < MINUTE


def test_requests_of_one_call_each_have_their_own(biz_type: BizType) -> None:
    def request(key: str, **fields: Any) -> JobRequest:
        return JobRequest("order.close", delay=MINUTE, biz_id=key, debounce_key=key, **fields)

    create_many([request("a"), request("b"), request("c")])
    now = timezone.now()
    Job.objects.update(created_at=now - HOUR, next_run_at=now)

    create_many([request("a"), request("b", debounce_max_wait=HOUR + MINUTE / 2), request("c", debounce_max_wait=HOUR)])

    waits = {job.biz_id: job.next_run_at - now for job in Job.objects.all()}
    assert waits["a"] >= MINUTE
    assert abs(waits["b"] - MINUTE / 2) <= ROUNDING
    assert abs(waits["c"]) <= ROUNDING


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"debounce_max_wait": 60}, "no_key"),
        ({"debounce_key": "k", "debounce_max_wait": 59, "delay": 60}, "too_short"),
        ({"debounce_key": "k", "debounce_max_wait": 60, "due_at": timezone.now() + HOUR}, "too_short"),
        ({"debounce_key": "k", "debounce_max_wait": -1}, "negative"),
        ({"debounce_key": "k", "debounce_max_wait": "soon"}, "invalid"),
    ],
)
def test_a_wait_that_cannot_be_is_refused(biz_type: BizType, fields: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        create("order.close", **fields)

    assert (refused.value.field, refused.value.code) == ("debounce_max_wait", code)


def test_another_longest_wait_is_another_request(biz_type: BizType) -> None:
    touch(idempotency_key="i", debounce_max_wait=HOUR)
    touch(idempotency_key="i", debounce_max_wait=3600)

    with pytest.raises(KeyTaken):
        touch(idempotency_key="i")


def test_a_job_that_was_rescheduled_beyond_the_wait_takes_the_time_of_a_later_request(biz_type: BizType) -> None:
    job = touch()
    made_before(job, 2 * DAY)
    jobs.reschedule(job.id, delay=7 * DAY)

    assert touch().due_at < timezone.now() + HOUR
