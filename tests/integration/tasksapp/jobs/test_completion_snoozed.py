"""Jobs that are snoozed: not yet, says the receiver or the task. It uses no attempt, and the age bounds it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from celery import Celery
from django.utils import timezone

from delayhub import Snooze, delayed_task
from delayhub.testing import run_due_jobs
from tasksapp import jobs
from tasksapp.jobs.retry_policy import LONGEST_RETRY_AFTER
from tasksapp.models import BizType, Job, Status
from tasksapp.stats.pulse_recorder import pulse_recorder
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.receiver import Receiver

pytestmark = pytest.mark.django_db

not_yet: list[int] = []


@delayed_task(biz_type="snooze.task", name="tests.snooze.task", max_attempts=2)
def close() -> str:
    if not_yet:
        raise Snooze(not_yet.pop())
    return "closed"


@pytest.fixture(autouse=True)
def _registered(current_celery: Celery) -> None:
    not_yet.clear()


async def snoozing(request: web.Request) -> web.StreamResponse:
    if not not_yet:
        return web.Response(status=204)
    headers = {"DelayHub-Action": "snooze", "Retry-After": str(not_yet.pop())}
    return web.Response(status=503, headers=headers)


def make(name: str, make_biz_type: MakeBizType, receiver: Receiver, **fields: Any) -> None:
    if name == "snooze.task":
        close.schedule()
        BizType.objects.filter(code=name).update(**fields)
    else:
        make_biz_type(name, url=receiver.url(), max_attempts=2, **fields)
        jobs.create(name)


def ran() -> Job:
    (done,) = run_due_jobs(send=True)
    return done.job


@pytest.mark.parametrize("name", ["snooze.task", "snooze.callback"])
def test_a_job_is_snoozed_more_often_than_it_has_attempts(name: str, make_biz_type: MakeBizType) -> None:
    not_yet.extend([60] * 5)

    with Receiver(snoozing) as receiver:
        make(name, make_biz_type, receiver)
        for _ in range(5):
            job = ran()
            assert (job.status, job.attempts, job.error_class) == (Status.PENDING, 0, "asked")
            assert 50 < (job.next_run_at - timezone.now()).total_seconds() <= 60
            assert "snooze" in job.last_error.lower()
            Job.objects.update(next_run_at=timezone.now())
        job = ran()

    assert (job.status, job.attempts) == (Status.SUCCEEDED, 1)


@pytest.mark.parametrize("name", ["snooze.task", "snooze.callback"])
@pytest.mark.parametrize("max_age", [timedelta(hours=1), None])
def test_the_age_ends_what_is_snoozed_again_and_again(
    name: str, max_age: timedelta | None, make_biz_type: MakeBizType
) -> None:
    not_yet.extend([10**9] * 2)
    age = max_age or LONGEST_RETRY_AFTER

    with Receiver(snoozing) as receiver:
        make(name, make_biz_type, receiver, max_age=max_age)
        job = ran()
        assert job.status == Status.PENDING
        assert job.due_at + age - timedelta(seconds=5) < job.next_run_at <= job.due_at + age
        # Its last chance, a moment before its age is used up.
        Job.objects.update(due_at=timezone.now() - age + timedelta(seconds=0.9), next_run_at=timezone.now())
        run_due_jobs(send=True)

    job = Job.objects.get()
    assert job.status == Status.DEAD
    # On a busy machine the age is used up before the claim.
    assert "snoozed until" in job.last_error or (max_age and job.error_class == "max_age")


def test_the_end_of_a_job_ends_what_is_snoozed(make_biz_type: MakeBizType) -> None:
    not_yet.append(7_200)

    with Receiver(snoozing) as receiver:
        make_biz_type("snooze.callback", url=receiver.url())
        jobs.create("snooze.callback", expires_at=timezone.now() + timedelta(hours=1))
        job = ran()

    assert (job.status, job.last_error.partition(";")[0]) == (
        Status.DEAD,
        "the next attempt would come after it expires",
    )


def test_a_job_that_is_sent_at_most_once_may_be_snoozed(make_biz_type: MakeBizType) -> None:
    not_yet.append(60)

    with Receiver(snoozing) as receiver:
        make("snooze.callback", make_biz_type, receiver, guarantee=BizType.Guarantee.AT_MOST_ONCE)
        assert (ran().status, ran_again().status) == (Status.PENDING, Status.SUCCEEDED)


def ran_again() -> Job:
    assert Job.objects.get().attempts == 0
    Job.objects.update(next_run_at=timezone.now())
    return ran()


def test_a_snooze_is_no_failure_in_the_numbers(make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[Any] = []
    monkeypatch.setattr(pulse_recorder.counts, "add", lambda ended, now_ms: counted.extend(ended))
    not_yet.append(60)

    with Receiver(snoozing) as receiver:
        make("snooze.callback", make_biz_type, receiver)
        ran()

    assert counted == []
