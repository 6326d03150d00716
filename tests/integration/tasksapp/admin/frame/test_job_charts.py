"""Charts of jobs: the attempts of the last day, and the jobs of the next."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from tasksapp.admin.frame.job_charts import next_chart, past_chart
from tasksapp.models import BizType, Pulse, Upcoming
from tasksapp.stats.pulses import floor
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db


def store_upcoming(biz_type: BizType, at: datetime, jobs: int) -> None:
    Upcoming.objects.create(biz_type=biz_type, at=at, span_seconds=300, jobs=jobs, counted_at=at)


def test_jobs_stand_in_the_ten_minutes_in_which_they_are_due(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    now = timezone.localtime().replace(hour=10, minute=7)
    at = floor(now, 600)
    for minutes, jobs in ((0, 5), (5, 2), (180, 1_000), (-5, 3), (24 * 60, 9)):
        store_upcoming(biz_type, at + timedelta(minutes=minutes), jobs)
    store_upcoming(make_biz_type("other"), at, 70)

    drawn = next_chart(biz_type, now=now)

    assert "10:00\njobs due: 7<" in drawn
    assert "13:00\njobs due: 1,000<" in drawn
    assert drawn.count("<title>") == 144
    assert drawn.count('<th scope="row">') == 2


def test_what_was_is_drawn_by_ten_minutes_with_its_newest_attempts(biz_type: BizType) -> None:
    now = timezone.now()
    for kind, key, count in (("succeeded", "", 12), ("failed", "http.503", 3), ("lateness", "21", 15)):
        Pulse.objects.create(biz_type=biz_type, at=floor(now, 60), span_seconds=60, kind=kind, key=key, count=count)

    drawn = past_chart(now=now, biz_type_id=biz_type.pk)

    assert len(re.findall("delayhub-hit", drawn)) == 144
    assert "done: 12\nfailed: 3\nlateness, 99 in 100 within: 35 ms" in drawn


def test_what_is_over_is_summed_once_a_minute_and_the_newest_attempts_each_time(biz_type: BizType) -> None:
    now = floor(timezone.now(), 600) + timedelta(minutes=7)
    for at, span, count in ((now - timedelta(minutes=37), 600, 5), (now, 60, 7)):
        Pulse.objects.create(biz_type=biz_type, at=at, span_seconds=span, kind="succeeded", key="", count=count)
    past_chart(now=now)
    Pulse.objects.update(count=6)

    soon, later = past_chart(now=now + timedelta(seconds=20)), past_chart(now=now + timedelta(seconds=60))

    assert "done: 5\n" in soon  # the settled points were not read again
    assert soon.count("done: 6\n") == 1
    assert "done: 5\n" not in later
    assert later.count("done: 6\n") == 2


def test_without_numbers_there_is_no_chart(biz_type: BizType) -> None:
    now = timezone.now()

    assert past_chart(now=now) == ""
    assert next_chart(biz_type, now=now) == ""
