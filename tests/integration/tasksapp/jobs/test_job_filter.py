"""A filter of jobs: which it means, what it refuses, and how it is written down."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tasksapp.errors import InvalidJob
from tasksapp.jobs.job_filter import MOST_IDS, JobFilter
from tasksapp.models import BizType, Job, Status
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 22, 22, 14, 3, tzinfo=UTC)


def found(**given: Any) -> set[str]:
    return set(JobFilter(**given).apply(Job.objects.all()).values_list("biz_id", flat=True))


def test_all_that_is_given_holds(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    other = make_biz_type("other")
    store_job(biz_type, Status.DEAD, biz_id="a", error_class="http.503", operation_id=7)
    store_job(biz_type, Status.DEAD, biz_id="b", error_class="timeout")
    store_job(biz_type, biz_id="c")
    store_job(other, Status.DEAD, biz_id="d")

    assert found() == {"a", "b", "c", "d"}
    assert found(status=Status.DEAD) == {"a", "b", "d"}
    assert found(biz_type="order.close", status=Status.DEAD) == {"a", "b"}
    assert found(error_class="timeout") == {"b"}
    assert found(operation=7) == {"a"}
    assert found(biz_type="none.such") == set()


def test_a_star_means_the_beginning_of_a_biz_id(biz_type: BizType) -> None:
    # Sorted as people sort, "A-1" and "a_1" would lie among these, and "ab" before "a-c".
    for biz_id in ("ab", "ab-1", "ab\U0010ffff", "abé", "AB-1", "a-b", "ac", "a", "%ab", "ab%", ""):
        store_job(biz_type, biz_id=biz_id)

    assert found(biz_id="ab*") == {"ab", "ab-1", "ab\U0010ffff", "abé", "ab%"}
    assert found(biz_id="ab") == {"ab"}
    assert found(biz_id="%*") == {"%ab"}
    assert len(found(biz_id="*")) == 11


def test_ranges_begin_with_their_first_moment_and_end_before_their_last(biz_type: BizType) -> None:
    hour = timedelta(hours=1)
    for number in range(3):
        at = NOW + number * hour
        store_job(biz_type, Status.DEAD, biz_id=str(number), due_at=at, next_run_at=at, finished_at=at)

    for name in ("due", "next", "ended"):
        assert found(**{f"{name}_from": NOW + hour}) == {"1", "2"}
        assert found(**{f"{name}_until": NOW + hour}) == {"0"}


def test_ids_name_jobs(biz_type: BizType) -> None:
    job = store_job(biz_type, biz_id="a")
    store_job(biz_type, biz_id="b")

    assert found(ids=(job.id, uuid4())) == {"a"}


def test_a_filter_is_written_as_json_and_read_again() -> None:
    whole = JobFilter(
        status=Status.DEAD, biz_type="order.close", error_class="http.503", biz_id="ab*", ids=(uuid4(),), due_from=NOW,
        next_until=NOW, ended_from=NOW, operation=17,
    )  # fmt: skip

    assert JobFilter.parse(json.loads(json.dumps(whole.as_dict()))) == whole
    assert JobFilter.parse({"status": "", "ids": [], "biz_id": None}) == JobFilter()
    assert JobFilter().as_dict() == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("colour", "red"),
        ("status", "nothing"),
        ("biz_type", "No Code"),
        ("biz_type", 7),
        ("biz_id", "a\0"),
        ("biz_id", "a" * 202),
        ("error_class", ["timeout"]),
        ("ids", "seven"),
        ("ids", {"a": 1}),
        ("ids", ["00000000-0000-0000-0000-000000000000"] * (MOST_IDS + 1)),
        ("operation", "seven"),
        ("operation", -1),
        ("operation", 2**63),
        ("due_from", "soon"),
        ("due_from", "2026-11-22T10:00"),
        ("due_from", "0001-01-01T00:00+10:00"),
        ("due_from", "0001-01-01T00:00Z"),  # no date for it west of Greenwich
        ("due_until", "9999-12-31T23:59:59Z"),  # no date for it east of Greenwich
        ("ended_until", 7),
    ],
)
def test_what_no_job_can_have_is_refused_by_the_name_of_the_field(field: str, value: Any) -> None:
    with pytest.raises(InvalidJob) as refused:
        JobFilter.parse({field: value})

    assert refused.value.field == field
