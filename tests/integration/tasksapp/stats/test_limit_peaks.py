"""Peaks against limits, read: only biz types that have one are looked at."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Upcoming
from tasksapp.stats.limit_peaks import limit_peaks, read_limit_peaks
from tasksapp.stats.pulses import floor
from tasksapp.stats.upcoming import read_arrivals
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db

#: The moment between two stretches.
EDGE = floor(timezone.now(), 300) + timedelta(hours=2)
MS = timedelta(milliseconds=1)


def store(biz_type: BizType, jobs: int, at: datetime) -> None:
    Upcoming.objects.create(
        biz_type=biz_type, at=floor(at, 300), span_seconds=300, jobs=jobs, first_at=at, last_at=at, counted_at=at
    )


def test_jobs_on_both_sides_of_an_edge_are_one_peak_and_all_peaks_are_found_by_one_query(
    make_biz_type: MakeBizType, django_assert_num_queries: Any
) -> None:
    halves, one, none = (make_biz_type(code, delivery_rate=100) for code in ("halves", "one", "none"))
    store(halves, 251, EDGE - MS)
    store(halves, 251, EDGE)
    store(one, 600, EDGE)
    store(none, 249, EDGE - MS)
    store(none, 249, EDGE)
    store(make_biz_type("free"), 1_000_000, EDGE)
    biz_types, now = list(BizType.objects.all()), timezone.now()

    with django_assert_num_queries(1):
        found = read_limit_peaks(biz_types, fullest=1_000_600, now=now)

    assert [(peak.biz_type, peak.jobs) for peak in found] == [(one, 600), (halves, 502)]
    assert found == limit_peaks(biz_types, arrivals=read_arrivals(), now=now), "what is not read has no peak"


def test_where_no_limit_can_be_reached_nothing_is_read(biz_type: BizType, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert read_limit_peaks([biz_type], fullest=1_000_000, now=timezone.now()) == []
        biz_type.delivery_rate = 500
        assert read_limit_peaks([biz_type], fullest=1_249, now=timezone.now()) == []
