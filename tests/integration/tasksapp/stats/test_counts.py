"""Counts are the loader's where those are fresh; else they are made here, and go no further than they may."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Job, JobCount, Status
from tasksapp.stats import counts
from tasksapp.stats.counts import BizTypeCounts, Counts, read_counts
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture
def biz_type() -> BizType:
    """A biz type with jobs, beside one without any."""
    BizType.objects.create(code="b.empty")
    made = BizType.objects.create(code="a.busy")
    for minutes in (-5, 10, 20):
        store_job(made, due_in=minutes * MINUTE)
    store_job(made, Status.RUNNING, due_in=-MINUTE)
    for minutes in (-9, -8):
        store_job(made, Status.DEAD, due_in=minutes * MINUTE)
    store_job(made, Status.SUCCEEDED, due_in=-MINUTE)
    return made


def stored(biz_type: BizType, *, counted_at: datetime, pending: int = 349_120) -> None:
    JobCount.objects.create(
        biz_type=biz_type, pending=pending, due_now=12_300, running=7, dead=44_667, counted_at=counted_at
    )


def test_what_the_loader_counted_is_read_by_one_query(biz_type: BizType, django_assert_num_queries: Any) -> None:
    at = timezone.now() - timedelta(seconds=50)
    stored(biz_type, counted_at=at)

    with django_assert_num_queries(1):
        found = read_counts()

    assert found == Counts(at, {biz_type.id: BizTypeCounts(349_120, 12_300, 7, 44_667)})
    assert found.of(-1) == BizTypeCounts()


def test_where_the_loader_has_not_counted_the_page_does(biz_type: BizType) -> None:
    stored(biz_type, counted_at=timezone.now() - timedelta(seconds=61))

    found = read_counts()

    assert found.bound == 1_000
    own = found.of(biz_type.id)
    assert own[:4] == (3, 1, 1, 2)
    run_at = list(
        Job.objects.filter(status=Status.PENDING).order_by("next_run_at").values_list("next_run_at", flat=True)
    )
    assert (own.oldest_due_at, own.next_due_at) == (run_at[0], run_at[1])
    assert len(found.by_biz_type) == 2


def test_no_count_of_a_page_goes_further_than_the_farthest(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "FARTHEST", 2)

    own = read_counts(biz_type_id=biz_type.id)

    assert own.bound == 2
    assert (own.total.pending, own.total.dead, list(own.by_biz_type)) == (2, 2, [biz_type.id])
    assert counts.bounded_count(Job.objects.order_by("body")) == 2


def test_the_total_has_all_jobs_and_the_earliest_times(biz_type: BizType) -> None:
    now = timezone.now()
    early, late = BizTypeCounts(1, 2, 3, 4, now, None), BizTypeCounts(10, 20, 30, 40, now + MINUTE, now + MINUTE)

    total = Counts(now, {1: early, 2: late}).total

    assert total == BizTypeCounts(11, 22, 33, 44, now, now + MINUTE)
    assert Counts(None).total == BizTypeCounts()


def test_a_page_counts_all_biz_types_together_no_further_than_one(biz_type: BizType) -> None:
    at = timezone.now() - timedelta(seconds=61)
    for number in range(49):
        stored(BizType.objects.create(code=f"kind-{number}"), counted_at=at)
    stored(biz_type, counted_at=at)

    found = read_counts()

    assert found.bound == 200
    assert found.total[:4] == (3, 1, 1, 2)
