"""The charts of the overview."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from tasksapp.admin.overview.charts import SPANS, ahead_view, past_chart, span_label, span_of
from tasksapp.models import BizType, Pulse, Upcoming
from tasksapp.stats.pulses import floor

pytestmark = pytest.mark.django_db


def store_upcoming(biz_type: BizType, *, minutes: int, jobs: int) -> None:
    now = timezone.now()
    at = floor(now + timedelta(minutes=minutes), 300)
    Upcoming.objects.create(
        biz_type=biz_type, at=at, span_seconds=300, jobs=jobs, first_at=at, last_at=at, counted_at=now
    )


def test_what_comes_is_drawn_by_five_minutes_or_by_hours(biz_type: BizType) -> None:
    store_upcoming(biz_type, minutes=61, jobs=400)
    store_upcoming(biz_type, minutes=600, jobs=7)
    biz_types = {biz_type.pk: biz_type}

    fine, hours, days = (ahead_view(span, biz_types=biz_types, now=timezone.now()) for span in SPANS)

    assert [len(re.findall("delayhub-hit", view.drawn)) for view in (fine, hours, days)] == [288, 24, 30]
    assert fine.jobs == hours.jobs == "407"
    assert "400 (all of order.close)" in fine.greatest
    assert days.greatest == ""


def test_a_span_that_does_not_exist_is_the_first_one() -> None:
    assert span_of("30d").hours == 720
    assert span_of("x") == SPANS[0]
    assert [span_label(span) for span in SPANS] == ["5 min", "1 h", "30 d"]


def test_what_was_is_drawn_by_ten_minutes_with_its_newest_attempts(biz_type: BizType) -> None:
    now = timezone.now()
    for kind, key, count in (("succeeded", "", 12), ("failed", "http.503", 3), ("lateness", "21", 15)):
        Pulse.objects.create(biz_type=biz_type, at=floor(now, 60), span_seconds=60, kind=kind, key=key, count=count)

    drawn = past_chart(now=now)

    assert len(re.findall("delayhub-hit", drawn)) == 144
    assert "done: 12\nfailed: 3\nlateness, 99 in 100 within: 35 ms" in drawn
