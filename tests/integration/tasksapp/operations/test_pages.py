"""Pages of an operation's jobs: all that match come once, and no page looks at too many rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction
from django.utils import timezone

from tasksapp import operations
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import BizType, Job, Operation, Status
from tasksapp.operations import pages
from tasksapp.operations.cursor import Walk
from tasksapp.operations.pages import JobPages, biz_types_with_jobs
from tests.integration.tasksapp.operation_runs import ADA
from tests.job_rows import job_row

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rows(biz_type: BizType, make_biz_type: Any) -> list[Job]:
    """Sixty jobs, pending and dead, of two biz types; some are due at the same moment."""
    other = make_biz_type("other")
    due = timezone.now().replace(microsecond=0) + timedelta(hours=1)
    return Job.objects.bulk_create(
        [
            job_row(
                other if number % 5 == 0 else biz_type,
                Status.DEAD if number % 2 else Status.PENDING,
                next_run_at=due + timedelta(seconds=number // 7),
                error_class="timeout" if number % 3 else "http.503",
                biz_id=f"order-{number % 4}",
            )
            for number in range(60)
        ]
    )


def operation(verb: str, **wanted: Any) -> Operation:
    job_filter = JobFilter(**wanted).as_dict()
    return Operation(verb=verb, job_filter=job_filter, planned_at=timezone.now() + timedelta(seconds=1))


@pytest.mark.parametrize("looked", [1, 7, 1_000])
@pytest.mark.parametrize(
    ("verb", "wanted"),
    [
        ("redrive", {}),
        ("redrive", {"error_class": "timeout"}),
        ("cancel", {}),
        ("cancel", {"biz_id": "order-2"}),
        ("cancel", {"biz_id": "order-*"}),
        ("cancel", {"next_from": timezone.now() + timedelta(minutes=1)}),
    ],
)
def test_all_that_match_come_once(
    rows: list[Job], biz_type: BizType, verb: str, wanted: dict[str, Any], looked: int
) -> None:
    source = Status.DEAD if verb == "redrive" else Status.PENDING
    expected = JobFilter(status=source, biz_type="order.close", **wanted).apply(Job.objects.all())
    counted, locked = Walk(biz_type=biz_type.id), Walk(biz_type=biz_type.id)
    tested = JobPages(operation(verb, **wanted), biz_type_id=biz_type.id, using="default")

    count, found, steps = 0, [], 0
    while not counted.over:
        page = tested.count(counted, rows=looked)
        count += page.jobs
        counted.after, counted.over = page.after, page.is_last
    with transaction.atomic():
        while not locked.over:
            taken = tested.lock(locked, most=4, rows=looked)
            found += [job.id for job in taken.jobs]
            locked.after, locked.over = taken.after, taken.is_last
            steps += 1

    assert count == len(found) == expected.count() > 0
    assert set(found) == set(expected.values_list("id", flat=True))
    assert steps >= len(found) / 4


def test_jobs_that_are_named_come_by_their_ids(rows: list[Job], biz_type: BizType) -> None:
    ids = tuple(job.id for job in rows[:20])
    tested = JobPages(operation("redrive", ids=ids), biz_type_id=biz_type.id, using="default")

    with transaction.atomic():
        page = tested.lock(Walk(biz_type=biz_type.id), most=100)

    wanted = [job.id for job in rows[:20] if job.status == Status.DEAD and job.biz_type_id == biz_type.id]
    assert {job.id for job in page.jobs} == set(wanted)
    assert page.is_last


def test_a_page_of_another_operations_jobs_finds_them_by_its_number(rows: list[Job], biz_type: BizType) -> None:
    Job.objects.filter(id__in=[job.id for job in rows[:30]]).update(operation_id=17)
    tested = JobPages(operation("drop", operation=17), biz_type_id=biz_type.id, using="default")

    assert (
        tested.count(Walk(biz_type=biz_type.id)).jobs
        == Job.objects.filter(operation_id=17, status=Status.DEAD, biz_type=biz_type).count()
    )


@pytest.mark.postgresql_only
def test_all_are_counted_at_once_where_that_is_fast(
    rows: list[Job], biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = JobPages(operation("redrive"), biz_type_id=biz_type.id, using="default")
    counted = counting.count_at_once()
    assert counted is not None
    assert (counted.jobs, counted.is_last) == (Job.objects.filter(status=Status.DEAD, biz_type=biz_type).count(), True)

    # a statement that waits for a lock is as slow as one that reads too much
    monkeypatch.setattr(pages, "AT_ONCE_SECONDS", 0.05)
    held = connections["default"].copy()
    try:
        held.set_autocommit(False)
        with held.cursor() as cursor:
            cursor.execute("LOCK TABLE delayhub_job IN ACCESS EXCLUSIVE MODE")
        assert counting.count_at_once() is None
    finally:
        held.close()


def test_what_was_planned_for_a_biz_type_that_is_gone_is_for_no_other(rows: list[Job], make_biz_type: Any) -> None:
    gone = make_biz_type("gone")
    planned = operations.plan("drop", JobFilter(biz_type="gone"), by=ADA)

    gone.delete()

    planned.refresh_from_db()
    assert biz_types_with_jobs(planned, using="default") == []
