"""How old the jobs of an operation are, found while they are counted."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Status
from tasksapp.operations.cursor import Ages, Cursor, count_with_ages
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.operation_runs import planned
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def test_a_plan_knows_how_old_its_jobs_are(make_biz_type: MakeBizType) -> None:
    strict, lax = make_biz_type("strict", max_age=2 * HOUR), make_biz_type("lax")
    old = store_job(strict, Status.DEAD, due_in=-5 * HOUR)
    store_job(strict, Status.DEAD, due_in=-HOUR)
    store_job(strict, Status.DEAD, due_in=-4 * HOUR, redriven_at=timezone.now())
    last = store_job(lax, Status.DEAD, due_in=-5 * HOUR, finished_at=timezone.now())

    ages = Cursor.of(planned()).ages

    assert ages == Ages(old.finished_at, last.finished_at, older=1)


def test_pending_jobs_are_as_old_as_their_due_time(biz_type: BizType) -> None:
    first, last = store_job(biz_type, due_in=-HOUR), store_job(biz_type, due_in=HOUR)

    ages = Cursor.of(planned("run_now", biz_type="order.close")).ages

    assert ages == Ages(first.due_at, last.due_at, older=0)


def test_a_plan_without_jobs_has_no_ages(biz_type: BizType) -> None:
    assert Cursor.of(planned(biz_type="order.close")).ages == Ages()


def test_a_max_age_beyond_the_first_date_is_never_used_up(biz_type: BizType) -> None:
    store_job(biz_type, due_in=-HOUR)
    found = biz_type.jobs.all()

    jobs, ages = count_with_ages(found, status=Status.PENDING, now=timezone.now(), max_age=timedelta(days=999_999))

    assert (jobs, ages.older) == (1, 0)
