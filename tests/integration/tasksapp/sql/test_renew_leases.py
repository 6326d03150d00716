"""Leases are renewed by those who hold them; those that ran out give their jobs back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Job, Status
from tasksapp.sql.renew_leases import renew_leases
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim, return_lost
from tests.integration.tasksapp.stored_jobs import due

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_lease_is_renewed_by_its_holder_alone(biz_type: BizType) -> None:
    job_id, now = due(), timezone.now()
    answer = claim(job_id, now=now)
    until = now + timedelta(hours=2)

    assert renew_leases([(job_id, answer.token + 1, until)], using="default") == set()
    assert renew_leases([(job_id, answer.token, until)], using="default") == {job_id}

    assert Job.objects.get().lease_until == until
    assert return_lost(now=now + timedelta(hours=1)) == []


def test_a_lost_job_comes_back_without_using_an_attempt_until_it_was_lost_too_often(biz_type: BizType) -> None:
    job_id, now = due(), timezone.now()
    fates = []
    for _ in range(3):
        claim(job_id, now=now)
        now += timedelta(hours=1)
        (lost,) = return_lost(now=now)
        now += timedelta(hours=1)
        fates.append(
            (lost.status, Job.objects.get().status, Job.objects.get().attempts, Job.objects.get().system_errors)
        )

    assert fates == [
        (Status.PENDING, Status.PENDING, 0, 1),
        (Status.PENDING, Status.PENDING, 0, 2),
        (Status.DEAD, Status.DEAD, 0, 3),
    ]


def test_a_lost_job_that_may_be_sent_once_is_dead(make_biz_type: MakeBizType) -> None:
    make_biz_type("once", guarantee="at_most_once")
    job_id, now = due("once"), timezone.now()
    claim(job_id)

    return_lost(now=now + timedelta(hours=1))

    assert Job.objects.get().status == Status.DEAD
    assert "unknown" in Job.objects.get().last_error
