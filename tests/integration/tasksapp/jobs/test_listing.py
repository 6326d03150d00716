"""Lists of jobs: in order, page by page, whatever the biz types and the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from tasksapp.jobs import listing
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.listing import JobList, Page, TookTooLong
from tasksapp.models import BizType, Job, Status
from tests.fixture_types import MakeBizType
from tests.job_rows import job_row

pytestmark = pytest.mark.django_db
OFF = (Status.CANCELLED, Status.SKIPPED, Status.DROPPED)
ORDERS = [
    ((Status.PENDING,), "next_run_at"),
    ((Status.PENDING,), "-next_run_at"),
    ((Status.DEAD,), "-finished_at"),
    ((Status.DEAD,), "finished_at"),
    ((Status.RUNNING,), "lease_until"),
    (OFF, "-id"),
    (OFF, "-finished_at"),
    ((), "-id"),
]


@pytest.fixture
def kinds(make_biz_type: MakeBizType) -> list[BizType]:
    """Three biz types with 12 jobs of each status, several of the same moment."""
    kinds = [make_biz_type(code) for code in ("a", "b", "c")]
    now = timezone.now()
    rows = []
    for status in Status:
        for number in range(36):
            at = now - timedelta(seconds=number // 4)
            lease = at if status == Status.RUNNING else None
            ended = None if status in {Status.PENDING, Status.RUNNING} else at
            rows.append(
                job_row(kinds[number % 3], status, biz_id=f"{status}-{number}", next_run_at=at, finished_at=ended,
                        lease_until=lease)
            )  # fmt: skip
    Job.objects.bulk_create(rows)
    return kinds


def job_list(kinds: list[BizType], *, statuses: tuple[Status, ...], order: str, **given: Any) -> JobList:
    return JobList(job_filter=JobFilter(**given), statuses=statuses, order=order, biz_types=kinds)


def pages(found: JobList) -> Iterator[Page]:
    page = found.page()
    yield page
    while page.next is not None:
        page = found.page(after=page.next)
        yield page


@pytest.mark.parametrize("given", [{}, {"biz_type": "b"}, {"biz_id": "dead-1*"}, {"biz_id": "*"}])
def test_the_pages_together_are_all_that_match_in_order(
    kinds: list[BizType], monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    monkeypatch.setattr(listing, "PAGE_ROWS", 7)
    for statuses, order in ORDERS:
        rows = Job.objects.filter(**({"status__in": statuses} if statuses else {}))
        rows = JobFilter(**given).apply(rows)
        keys = [order] if order == "-id" else [order, "-id" if order.startswith("-") else "id"]

        found = job_list(kinds, statuses=statuses, order=order, **given)
        listed = [job for page in pages(found) for job in page.jobs]

        expected = list(rows.order_by(*keys).values_list("id", flat=True))
        assert [job.id for job in listed] == expected, (statuses, order)
        assert found.count() == len(listed), (statuses, order)


@pytest.mark.parametrize("gone", [False, True], ids=["redriven", "purged"])
@pytest.mark.parametrize("given", [{}, {"biz_type": "b"}])
def test_a_job_that_goes_while_its_page_is_read_takes_no_other_with_it(
    kinds: list[BizType], monkeypatch: pytest.MonkeyPatch, given: dict[str, str], gone: bool
) -> None:
    found = job_list(kinds, statuses=(Status.DEAD,), order="-finished_at", **given)
    monkeypatch.setattr(listing, "PAGE_ROWS", 3)
    expected = [job.id for page in pages(found) for job in page.jobs]
    read = JobList.read

    def late(self: JobList, ids: Sequence[UUID]) -> list[Job]:
        if list(ids) == expected[:3]:
            rows = Job.objects.filter(id__in=ids)
            rows.delete() if gone else rows.update(status=Status.PENDING, finished_at=None)
        return read(self, ids)

    monkeypatch.setattr(JobList, "read", late)

    assert [job.id for page in pages(found) for job in page.jobs if job.finished_at] == expected[3:]


def test_a_page_may_be_bounded_by_its_bodies(kinds: list[BizType]) -> None:
    found = job_list(kinds, statuses=(Status.DEAD,), order="-finished_at")
    whole = [job.id for job in found.page().jobs]

    for most_bytes, many in ((0, 1), (13, 1), (5 * 13, 5), (5 * 13 + 12, 5), (1_000_000, 36)):
        page = found.page(most_bytes=most_bytes)  # each has {"order": 42}
        assert [job.id for job in page.jobs] == whole[:many]
        assert (page.next is None) == (many == 36)


def test_a_page_reads_neither_bodies_nor_biz_types(kinds: list[BizType], django_assert_num_queries: Any) -> None:
    found = job_list(kinds, statuses=(Status.PENDING,), order="next_run_at")

    page = found.page()
    with django_assert_num_queries(0):
        assert {job.biz_type.code for job in page.jobs} == {"a", "b", "c"}
    assert all("body" in job.get_deferred_fields() for job in page.jobs)


def test_a_text_is_looked_for_in_bodies(kinds: list[BizType]) -> None:
    first, second = Job.objects.filter(biz_type=kinds[0], status=Status.DEAD).order_by("-finished_at", "-id")[:2]
    Job.objects.filter(id=second.id).update(body='{"customer":"c-123%_"}')
    Job.objects.filter(id=first.id).update(body='{"customer":"C-123%_"}')
    found = job_list(kinds, statuses=(Status.DEAD,), order="-finished_at", biz_type="a")

    look = found.look_for("c-123%_")

    assert (look.ids, look.looked_at, look.is_whole) == ([second.id], 12, True)


def test_without_biz_types_there_is_nothing(db: None) -> None:
    assert job_list([], statuses=(Status.PENDING,), order="next_run_at").page() == Page([], None)


def test_what_takes_too_long_ends(kinds: list[BizType], monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def over(seconds: float, *, using: str) -> Iterator[None]:
        raise TookTooLong
        yield

    monkeypatch.setattr(listing, "within", over)
    found = job_list(kinds, statuses=(Status.PENDING,), order="next_run_at")

    with pytest.raises(TookTooLong):
        found.page()
    assert found.count() is None


def test_positions_are_moments_or_ids(kinds: list[BizType]) -> None:
    by_time = job_list(kinds, statuses=(Status.DEAD,), order="-finished_at").page(limit=1).next
    by_id = job_list(kinds, statuses=(), order="-id").page(limit=1).next

    assert by_time is not None
    assert isinstance(by_time.moment, datetime)
    assert by_id is not None
    assert by_id.moment is None
