"""The charts of the overview."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.admin.overview.charts import SPANS, ahead_view, span_label, span_of
from tasksapp.models import BizType, Upcoming
from tasksapp.stats.pulses import floor
from tasksapp.stats.upcoming import day_begins
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db


def store_upcoming(biz_type: BizType, *, minutes: int, jobs: int) -> None:
    now = timezone.now()
    at = floor(now + timedelta(minutes=minutes), 300)
    Upcoming.objects.create(biz_type=biz_type, at=at, span_seconds=300, jobs=jobs, counted_at=now)


def test_what_comes_is_drawn_by_five_minutes_or_by_hours(biz_type: BizType) -> None:
    store_upcoming(biz_type, minutes=61, jobs=400)
    store_upcoming(biz_type, minutes=600, jobs=7)
    biz_types = {biz_type.pk: biz_type}

    fine, hours, days = (ahead_view(span, biz_types=biz_types, now=timezone.now()) for span in SPANS)

    assert [len(re.findall("delayhub-hit", view.drawn)) for view in (fine, hours)] == [288, 24]
    assert fine.jobs == hours.jobs == "407"
    assert "400 (all of order.close)" in fine.greatest
    assert (days.drawn, days.jobs, days.greatest) == ("", "0", "")


def test_a_span_that_does_not_exist_is_the_first_one() -> None:
    assert span_of("30d").hours == 720
    assert span_of("x") == SPANS[0]
    assert [span_label(span) for span in SPANS] == ["5 min", "1 h", "30 d"]


def test_a_column_names_the_biz_type_that_has_most_of_it(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    other = make_biz_type("other")
    store_upcoming(biz_type, minutes=61, jobs=300)
    store_upcoming(other, minutes=61, jobs=7)

    view = ahead_view(SPANS[0], biz_types={biz_type.pk: biz_type, other.pk: other}, now=timezone.now())

    assert "307 (300 of them of order.close)" in view.greatest


def test_a_day_is_named_by_the_zone_of_the_project(biz_type: BizType, settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    now = datetime(2026, 11, 22, 20, tzinfo=UTC)  # there it is the 23rd
    Upcoming.objects.create(biz_type=biz_type, at=day_begins(now), span_seconds=86_400, jobs=9, counted_at=now)

    view = ahead_view(SPANS[2], biz_types={biz_type.pk: biz_type}, now=now)

    assert "Most at 2026-11-23: 9" in view.greatest
