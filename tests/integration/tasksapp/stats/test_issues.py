"""Issues: dead jobs that failed alike are one row."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from tasksapp.models import BizType, DeadCount, Pulse, Status
from tasksapp.stats.issues import open_issues
from tasksapp.stats.pulses import floor
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def dead(biz_type: BizType, error_class: str, count: int, *, last_ago: timedelta = HOUR) -> None:
    now = timezone.now()
    DeadCount.objects.create(
        biz_type=biz_type,
        error_class=error_class,
        dead=count,
        first_at=now - timedelta(days=2),
        last_at=now - last_ago,
        counted_at=now,
    )


def pulse(biz_type: BizType, kind: str, key: str, count: int, *, ago: timedelta = timedelta(), span: int = 60) -> None:
    at = floor(timezone.now() - ago, span)
    Pulse.objects.create(biz_type=biz_type, at=at, span_seconds=span, kind=kind, key=key, count=count)


def test_an_issue_says_how_many_since_when_and_whether_it_goes_on(
    biz_type: BizType, make_biz_type: MakeBizType, django_assert_num_queries: Any
) -> None:
    other = make_biz_type("other")
    store_job(biz_type, Status.DEAD, due_in=-3 * HOUR, error_class="http.503")
    newest = store_job(biz_type, Status.DEAD, due_in=-HOUR, error_class="http.503")
    store_job(biz_type, Status.DEAD, due_in=-HOUR / 2, error_class="dns")
    dead(biz_type, "http.503", 42_000)
    dead(other, "", 7, last_ago=2 * HOUR)
    pulse(biz_type, "dead", "http.503", 30)
    pulse(biz_type, "dead", "http.503", 5_000, ago=timedelta(days=1, hours=1), span=3_600)
    pulse(biz_type, "succeeded", "", 60)
    pulse(biz_type, "failed", "http.503", 30)
    pulse(biz_type, "failed", "dns", 10)

    with django_assert_num_queries(3):
        first, second = open_issues()

    assert (first.biz_type, first.error_class, first.dead, first.today) == (biz_type, "http.503", 42_000, 30)
    assert (first.failing_share, first.sample_job_id) == (0.3, newest.id)
    assert (second.biz_type, second.error_class, second.dead) == (other, "", 7)
    assert (second.today, second.failing_share, second.sample_job_id) == (0, None, None)
    assert open_issues(biz_type_id=other.id) == [second]


def test_hours_of_today_count_by_their_sums_and_not_twice(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    noon = timezone.now().replace(hour=12, minute=30)
    monkeypatch.setattr(timezone, "now", lambda: noon)
    monkeypatch.setattr(timezone, "localtime", lambda: noon)
    dead(biz_type, "dns", 9)
    pulse(biz_type, "dead", "dns", 4, ago=3 * HOUR, span=3_600)
    pulse(biz_type, "dead", "dns", 4, ago=3 * HOUR)
    pulse(biz_type, "dead", "dns", 2)

    (issue,) = open_issues()

    assert issue.today == 6


def test_without_dead_jobs_there_is_no_issue_and_one_query(biz_type: BizType, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        assert open_issues() == []


def test_a_day_that_begins_within_an_hour_of_utc_counts_from_its_midnight(
    biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = timezone.now().astimezone(ZoneInfo("Asia/Kolkata")).replace(hour=12, minute=30, second=0, microsecond=0)
    midnight = noon.replace(hour=0, minute=0)
    monkeypatch.setattr(timezone, "now", lambda: noon)
    monkeypatch.setattr(timezone, "localtime", lambda: noon)
    dead(biz_type, "dns", 9)
    today = noon - midnight
    for minutes, count in ((-1, 100), (0, 3), (29, 4), (30, 5)):
        pulse(biz_type, "dead", "dns", count, ago=today - timedelta(minutes=minutes))
    pulse(biz_type, "dead", "dns", 107, ago=today, span=3_600)
    pulse(biz_type, "dead", "dns", 5, ago=today - HOUR, span=3_600)

    (issue,) = open_issues()

    assert issue.today == 3 + 4 + 5
