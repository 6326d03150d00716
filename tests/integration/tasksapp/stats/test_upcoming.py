"""What lies ahead, by stretches; empty ones are there too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Upcoming
from tasksapp.stats.pulses import floor
from tasksapp.stats.upcoming import Coming, day_begins, read_upcoming
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db


def ahead(biz_type: BizType, at: datetime, jobs: int, *, span: int = 300) -> None:
    Upcoming.objects.create(biz_type=biz_type, at=at, span_seconds=span, jobs=jobs, counted_at=timezone.now())


def test_stretches_are_read_by_one_query(
    biz_type: BizType, make_biz_type: MakeBizType, django_assert_num_queries: Any
) -> None:
    other = make_biz_type("other")
    at = floor(timezone.now(), 300) + timedelta(hours=1)
    ahead(biz_type, at, 200_000)
    ahead(other, at, 3)
    ahead(other, at + timedelta(hours=30), 5)

    with django_assert_num_queries(1):
        stretches = read_upcoming(hours=24, seconds=300)

    assert len(stretches) == 288
    (busy,) = [stretch for stretch in stretches if stretch.jobs]
    assert busy == Coming(at, 200_003, 2, biz_type.id, 200_000)
    assert sum(stretch.jobs for stretch in read_upcoming(hours=24, seconds=300, biz_type_id=other.id)) == 3


def test_longer_stretches_are_sums(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    other, now = make_biz_type("other"), timezone.now()
    hour = floor(now, 3_600) + timedelta(hours=2)
    for minutes, jobs in ((0, 3), (55, 4), (60, 9)):
        ahead(biz_type, hour + timedelta(minutes=minutes), jobs)
    ahead(other, hour + timedelta(minutes=30), 5)

    third, fourth = read_upcoming(hours=24, seconds=3_600, now=now)[2:4]

    assert third == Coming(hour, 12, 2, biz_type.id, 7)
    assert fourth == Coming(hour + timedelta(hours=1), 9, 1, biz_type.id, 9)


def test_days_begin_at_midnight_of_the_project(biz_type: BizType, settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    midnight = day_begins(timezone.now())
    ahead(biz_type, midnight + timedelta(days=2), 7, span=86_400)

    days = read_upcoming(hours=24 * 7, seconds=86_400)

    assert midnight.astimezone(UTC).hour == 16
    assert [day.jobs for day in days] == [0, 0, 7, 0, 0, 0, 0]
    assert len(read_upcoming(hours=24 * 365, seconds=86_400)) == 30
