"""The message of a job whose task a worker does not know: dropped, with the reason in the row."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from celery.signals import task_unknown
from django.utils import timezone

from delayhub.celery_support.delayed_task import JOB_HEADER
from tasksapp import jobs
from tasksapp.models import Job, Status
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim

pytestmark = pytest.mark.django_db


class Worker:
    """A worker's consumer, as far as the signal's receiver looks at it."""

    hostname = "w1@here"


@pytest.fixture
def job(make_biz_type: MakeBizType) -> Job:
    """A job whose message is under way."""
    make_biz_type("shop.weigh", target="celery", task_name="shop.weigh")
    made = jobs.create("shop.weigh").job
    claim(made.id, forward_seconds=300)
    return made


def drop_message(headers: Any) -> None:
    """Does what Celery does after it has dropped the message."""
    task_unknown.send(
        sender=Worker(), message=SimpleNamespace(headers=headers), exc=KeyError(), name="shop.weigh", id="t1"
    )


def test_the_row_says_which_worker_does_not_know_the_task_and_its_message_is_sent_again_soon(job: Job) -> None:
    drop_message({JOB_HEADER: str(job.id)})

    job.refresh_from_db()
    assert job.status == Status.PENDING
    assert job.last_error.startswith("its task shop.weigh is not registered in w1@here")
    assert job.lease_until is not None
    assert job.lease_until - timezone.now() < timedelta(seconds=61)
    assert len(claim(job.id, now=job.lease_until + timedelta(seconds=1), forward_seconds=300).forwarded) == 1


def test_a_row_that_has_changed_since_is_left(job: Job) -> None:
    jobs.run_now(job.id)

    drop_message({JOB_HEADER: str(job.id)})

    job.refresh_from_db()
    assert (job.last_error, job.lease_until) == ("", None)


@pytest.mark.parametrize("headers", [None, {}])
def test_a_message_of_no_job_is_none_of_its_business(job: Job, headers: Any) -> None:
    before = Job.objects.values().get()

    drop_message(headers)

    assert Job.objects.values().get() == before
