"""Each row of an UPDATE gets a time of its own."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tasksapp.models import BizType, Job
from tasksapp.sql.time_of_each import time_of_each
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


def test_each_row_has_the_time_of_its_id_by_one_statement(biz_type: BizType) -> None:
    jobs = [store_job(biz_type) for _ in range(300)]
    # with and without a part of a second, which SQLite stores in different lengths
    at = timezone.now().replace(microsecond=0)
    times = {job.id: at + number * timedelta(milliseconds=250) for number, job in enumerate(reversed(jobs))}

    with CaptureQueriesContext(connection) as queries:
        Job.objects.filter(id__in=[*times]).update(next_run_at=time_of_each(times, using="default"))

    assert len(queries) == 1
    assert dict(Job.objects.values_list("id", "next_run_at")) == times
    assert Job.objects.filter(next_run_at=at).count() == 1  # it is stored as the ORM stores it


def test_a_row_that_is_not_named_has_none(biz_type: BizType) -> None:
    job = store_job(biz_type)
    times: dict[UUID, datetime] = {UUID(int=7): timezone.now()}

    found = Job.objects.annotate(at=time_of_each(times, using="default")).get()

    assert (found.id, found.at) == (job.id, None)
