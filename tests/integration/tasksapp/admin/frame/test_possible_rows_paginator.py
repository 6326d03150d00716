"""Pages of a table too long to count: nothing is counted further than a person turns pages."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.admin.frame.possible_rows import BoundedPaginator
from tasksapp.models import BizType, Job
from tasksapp.stats import counts
from tests.job_rows import job_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def pages(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> BoundedPaginator:
    """Pages of ten, of 35 jobs, in lists that end at thirty."""
    monkeypatch.setattr(counts, "FARTHEST", 30)
    Job.objects.bulk_create([job_row(biz_type) for _ in range(35)])
    return BoundedPaginator(Job.objects.order_by("-id"), 10)


def test_a_count_ends_where_pages_do(pages: BoundedPaginator) -> None:
    assert (pages.count, pages.num_pages) == (30, 3)


def test_it_counts_once_and_no_further(pages: BoundedPaginator, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1) as queries:
        assert [pages.count, pages.count] == [30, 30]

    assert "LIMIT 30" in queries.captured_queries[0]["sql"]


def test_a_page_has_its_rows(pages: BoundedPaginator) -> None:
    newest = list(Job.objects.order_by("-id").values_list("id", flat=True))

    assert [job.pk for job in pages.page(3)] == newest[20:30]
