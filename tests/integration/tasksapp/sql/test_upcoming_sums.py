"""Counts of what lies ahead are summed by stretches, with the biz type that has most of each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tasksapp.models import BizType, Upcoming
from tasksapp.sql.upcoming import SummedStretch, sum_upcoming
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 4, 5, 0, tzinfo=UTC)


def store(biz_type: BizType, jobs: int, *, minutes: int, span: int = 300) -> None:
    at = AT + timedelta(minutes=minutes)
    Upcoming.objects.create(biz_type=biz_type, at=at, span_seconds=span, jobs=jobs, counted_at=AT)


def test_a_stretch_has_its_beginning_and_not_its_end(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    other = make_biz_type("other")
    for minutes in (-5, 0, 5, 10, 55, 60):
        store(biz_type, 2, minutes=minutes)
    store(other, 3, minutes=5)
    store(other, 0, minutes=20)
    store(other, 70, minutes=0, span=86_400)

    found = sum_upcoming(begin=AT, end=AT + timedelta(hours=1), seconds=600, counted_by=300, using="default")

    assert found == [
        SummedStretch(0, 7, 2, biz_type.id, 4),
        SummedStretch(1, 2, 1, biz_type.id, 2),
        SummedStretch(5, 2, 1, biz_type.id, 2),
    ]


def test_where_two_have_as_many_the_older_one_is_named(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    store(make_biz_type("other"), 3, minutes=0)
    store(biz_type, 3, minutes=0)

    (found,) = sum_upcoming(begin=AT, end=AT + timedelta(hours=1), seconds=300, counted_by=300, using="default")

    assert (found.jobs, found.biz_types, found.biz_type_id, found.most) == (6, 2, biz_type.id, 3)
