"""Due jobs, found by their rows."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Status
from tasksapp.sql.first_jobs import database_now_ms, due_jobs
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
SECOND = timedelta(seconds=1)


def test_those_that_were_due_first_come_first_over_all_biz_types(make_biz_type: MakeBizType) -> None:
    now = timezone.now()
    kinds = [make_biz_type(code) for code in ("a", "b", "left.out")]
    stored = {n: store_job(kinds[n % 2], next_run_at=now - n * SECOND) for n in range(1, 6)}
    store_job(kinds[0], next_run_at=now + SECOND)
    store_job(kinds[1], next_run_at=now - SECOND, status=Status.RUNNING)
    store_job(kinds[2], next_run_at=now - 9 * SECOND)
    wanted = {kind.pk: 10 for kind in kinds[:2]}

    found = due_jobs(wanted, until=now, limit=3, using="default")

    assert found == [stored[n].id for n in (5, 4, 3)]


def test_of_a_biz_type_no_more_than_wanted(make_biz_type: MakeBizType) -> None:
    now = timezone.now()
    probed, free = make_biz_type("probed"), make_biz_type("free")
    for kind in (probed, free):
        for n in range(3):
            store_job(kind, next_run_at=now - n * SECOND)

    found = due_jobs({probed.pk: 1, free.pk: 10}, until=now, limit=10, using="default")

    assert len(found) == 4


def test_the_databases_clock_is_told_in_unix_ms(biz_type: BizType) -> None:
    assert abs(database_now_ms(using="default") - timezone.now().timestamp() * 1000) < 60_000
