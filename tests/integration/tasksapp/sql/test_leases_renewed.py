"""Leases are renewed by those who hold them, and only while they do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Job
from tasksapp.sql.leases import renew_leases
from tests.integration.tasksapp.claiming import claim, return_lost
from tests.integration.tasksapp.stored_jobs import due

pytestmark = pytest.mark.django_db(transaction=True)


def test_only_the_holder_of_a_lease_renews_it(biz_type: BizType) -> None:
    job_id, now = due(), timezone.now()
    answer = claim(job_id, now=now)
    until = now + timedelta(hours=2)

    assert renew_leases([(job_id, answer.token + 1, until)], using="default") == set()
    assert renew_leases([(job_id, answer.token, until)], using="default") == {job_id}

    assert Job.objects.get().lease_until == until
    assert return_lost(now=now + timedelta(hours=1)) == []
