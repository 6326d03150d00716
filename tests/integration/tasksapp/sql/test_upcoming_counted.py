"""Jobs ahead are counted by the stretch in which they run, to the microsecond."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tasksapp.models import BizType, Status
from tasksapp.sql.upcoming import CountedStretch, count_upcoming
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

AT = datetime(2026, 3, 4, 5, 0, tzinfo=UTC)
STEP, INSTANT = timedelta(seconds=300), timedelta(milliseconds=1)


def test_a_stretch_has_its_beginning_and_not_its_end(biz_type: BizType) -> None:
    times = [AT - INSTANT, AT, AT + STEP - INSTANT, AT + STEP, AT + 287 * STEP, AT + 288 * STEP]
    for at in times:
        store_job(biz_type, next_run_at=at)
    store_job(biz_type, Status.CANCELLED, next_run_at=AT)

    found = count_upcoming(begin=AT, end=AT + 288 * STEP, seconds=300, using="default", timeout_seconds=9)

    assert sorted(found) == [
        CountedStretch(biz_type.id, 0, 2),
        CountedStretch(biz_type.id, 1, 1),
        CountedStretch(biz_type.id, 287, 1),
    ]
