"""Jobs are counted by biz type, status and kind of error."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Status
from tasksapp.sql.count_jobs import CountedJobs, count_jobs
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def test_what_is_live_or_dead_is_counted_and_what_ended_well_is_not(biz_type: BizType) -> None:
    now = timezone.now()
    late, soon, later = (store_job(biz_type, due_in=hours * HOUR).next_run_at for hours in (-1, 1, 2))
    store_job(biz_type, Status.RUNNING)
    died = [store_job(biz_type, Status.DEAD, due_in=-n * HOUR, error_class="dns").finished_at for n in (2, 1)]
    store_job(biz_type, Status.SUCCEEDED)

    _, found = count_jobs(clock=lambda: now, using="default", timeout_seconds=9)

    assert sorted(found) == [
        CountedJobs("dead", biz_type.id, "dns", 2, *died, 0),
        CountedJobs("pending", biz_type.id, "", 3, late, soon, 1),
        CountedJobs("running", biz_type.id, "", 1, None, None, 0),
    ]
    assert soon < later
