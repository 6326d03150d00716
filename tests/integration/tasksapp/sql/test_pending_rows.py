"""Pending rows that should have a timer, page by page."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Job, Status
from tasksapp.sql import pending_rows
from tasksapp.sql.pending_rows import Position, count_pending, pages
from tests.fixture_types import MakeBizType
from tests.job_rows import job_row, store_job

pytestmark = pytest.mark.django_db
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def ids(biz_type: BizType, *, after: Position | datetime | None, until: datetime) -> list[UUID]:
    return [row.id for page in pages(biz_type.id, after=after, until=until, using="default") for row in page]


def test_pages_have_each_row_once_in_the_order_of_their_times(
    biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending_rows, "PAGE_ROWS", 3)
    same = timezone.now()
    rows = [job_row(biz_type, next_run_at=same + timedelta(seconds=n // 4)) for n in range(10)]
    Job.objects.bulk_create(rows)

    found = list(pages(biz_type.id, after=None, until=same + HOUR, using="default"))

    assert [len(page) for page in found] == [3, 3, 3, 1]
    assert [row.id for page in found for row in page] == [row.id for row in sorted(rows, key=lambda r: r.next_run_at)]


def test_a_walk_goes_on_where_it_stopped(biz_type: BizType) -> None:
    same = timezone.now()
    rows = [job_row(biz_type, next_run_at=same) for _ in range(3)]
    Job.objects.bulk_create(rows)
    (page,) = pages(biz_type.id, after=None, until=same, using="default")

    assert ids(biz_type, after=page[0].position, until=same) == [rows[1].id, rows[2].id]
    assert ids(biz_type, after=same, until=same + HOUR) == []


def test_a_row_has_what_its_timer_needs_to_the_microsecond(biz_type: BizType) -> None:
    at = timezone.now().replace(microsecond=123_457)
    under_way = at + HOUR
    stored = store_job(biz_type, next_run_at=at, priority=2, lease_until=under_way)

    ((row,),) = pages(biz_type.id, after=None, until=at, using="default")

    assert row == (stored.id, at, 2, under_way, "")


@pytest.mark.parametrize("status", [status for status in Status if status != Status.PENDING])
def test_rows_of_other_statuses_and_biz_types_are_left_out(
    status: Status, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    store_job(biz_type, status, due_in=-MINUTE)
    store_job(make_biz_type("other"), due_in=-MINUTE)
    now = timezone.now()

    assert ids(biz_type, after=None, until=now) == []
    assert count_pending(biz_type.id, after=now - HOUR, until=now, using="default") == 0


def test_the_ends_of_a_count_are_open_and_closed(biz_type: BizType) -> None:
    at = timezone.now()
    store_job(biz_type, next_run_at=at)

    assert count_pending(biz_type.id, after=at - MINUTE, until=at, using="default") == 1
    assert count_pending(biz_type.id, after=at, until=at + MINUTE, using="default") == 0
