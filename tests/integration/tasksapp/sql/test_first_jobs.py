"""The first jobs of several biz types, from an index of each."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasksapp.models import BizType, Job, Status
from tasksapp.sql.first_jobs import MOST_PARTS, first_jobs
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


def test_the_first_of_all_biz_types_come_by_one_statement(make_biz_type: MakeBizType) -> None:
    kinds = [make_biz_type(code) for code in ("a", "b", "c")]
    made = [store_job(kinds[number % 3], due_in=timedelta(minutes=number)) for number in range(9)]
    rows = Job.objects.filter(status=Status.PENDING)

    with CaptureQueriesContext(connection) as queries:
        found = first_jobs(
            rows, part="biz_type_id", parts=[kind.id for kind in kinds], order="next_run_at", limit=5, using="default"
        )

    assert found == [(job.next_run_at, job.id) for job in made[:5]]
    assert len(queries) == 1


def test_no_parts_have_no_jobs(biz_type: BizType) -> None:
    store_job(biz_type)

    assert first_jobs(Job.objects.all(), part="biz_type_id", parts=[], order="-id", limit=5, using="default") == []


def test_hundreds_of_biz_types_fit_into_a_statement(biz_type: BizType) -> None:
    job = store_job(biz_type)
    parts = [biz_type.id, *range(1_000_000, 1_000_000 + MOST_PARTS - 1)]

    assert first_jobs(Job.objects.all(), part="biz_type_id", parts=parts, order="-id", limit=5, using="default") == [
        (None, job.id)
    ]
