"""Counts are right up to their end, and go no further."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Job, Status
from tasksapp.stats import counts

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def add_jobs(biz_type: BizType, status: Status, *, due_minutes: list[int]) -> None:
    for minutes in due_minutes:
        due = NOW + timedelta(minutes=minutes)
        Job.objects.create(
            biz_type=biz_type, status=status, due_at=due, next_run_at=due, body="{}", created_at=NOW, updated_at=NOW
        )


@pytest.fixture
def biz_type() -> BizType:
    """A biz type with jobs, beside one without any."""
    BizType.objects.create(code="b.empty")
    made = BizType.objects.create(code="a.busy")
    add_jobs(made, Status.PENDING, due_minutes=[-5, 10, 20])
    add_jobs(made, Status.RUNNING, due_minutes=[-1])
    add_jobs(made, Status.DEAD, due_minutes=[-9, -8])
    add_jobs(made, Status.SUCCEEDED, due_minutes=[-7])
    return made


def test_every_biz_type_is_counted_in_one_query(biz_type: BizType, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        busy, empty = counts.count_jobs(now=NOW)

    assert busy.biz_type == biz_type
    assert busy[1:] == (3, 1, 1, 2, NOW - timedelta(minutes=5))
    assert empty[1:] == (0, 0, 0, 0, None)


def test_no_count_goes_further_than_the_farthest(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "FARTHEST", 2)

    (busy, _) = counts.count_jobs(now=NOW)

    assert (busy.pending, busy.dead) == (2, 2)
    assert counts.bounded_count(Job.objects.order_by("body")) == 2


def test_biz_types_are_sorted_by_their_counts(biz_type: BizType) -> None:
    rows = counts.with_counts(BizType.objects.all()).order_by("-dead")

    assert [(row.code, row.pending, row.dead) for row in rows] == [("a.busy", 3, 2), ("b.empty", 0, 0)]
