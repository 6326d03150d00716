"""Pages by key: each begins where the last one ended."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from tasksapp.api.http.paging import NewestFirst
from tasksapp.api.http.problems import Refused
from tasksapp.models import BizType, Job
from tests.job_rows import job_row

pytestmark = pytest.mark.django_db


def page_of(query: str = "") -> tuple[list[UUID], str | None]:
    """The ids of a page, and the address of the next one."""
    paging = NewestFirst()
    request = Request(APIRequestFactory().get(f"/api/v1/jobs?{query}"))
    rows = paging.paginate_queryset(Job.objects.all(), request)
    answer: Any = paging.get_paginated_response([row.pk for row in rows]).data
    return answer["results"], answer["next"]


@pytest.fixture
def newest_first(biz_type: BizType) -> list[UUID]:
    """The ids of five jobs."""
    rows = Job.objects.bulk_create([job_row(biz_type) for _ in range(5)])
    return sorted((row.pk for row in rows), reverse=True)


def test_pages_follow_each_other_to_the_end(newest_first: list[UUID]) -> None:
    seen: list[UUID] = []
    query: str | None = "limit=2"
    pages = 0
    while query is not None:
        ids, following = page_of(query)
        seen += ids
        pages += 1
        query = following and following.partition("?")[2]

    assert seen == newest_first
    assert pages == 3


def test_a_page_that_is_just_full_has_none_after_it(newest_first: list[UUID]) -> None:
    assert page_of("limit=5") == (newest_first, None)


def test_what_comes_meanwhile_moves_nothing(newest_first: list[UUID], biz_type: BizType) -> None:
    first, following = page_of("limit=2")
    job_row(biz_type).save()

    assert following is not None
    assert first + page_of(following.partition("?")[2])[0] == newest_first[:4]


def test_the_next_address_keeps_what_else_was_asked(newest_first: list[UUID]) -> None:
    _, following = page_of("limit=1&status=pending")

    assert following == f"http://testserver/api/v1/jobs?cursor={newest_first[0]}&limit=1&status=pending"


def test_a_page_has_a_hundred_rows_unless_it_is_said(biz_type: BizType) -> None:
    Job.objects.bulk_create([job_row(biz_type) for _ in range(101)])

    ids, following = page_of()

    assert len(ids) == 100
    assert following is not None


@pytest.mark.parametrize("limit", ["1", "1000"])
def test_a_limit_may_be_one_to_a_thousand(limit: str, db: None) -> None:
    assert page_of(f"limit={limit}") == ([], None)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        *((f"limit={limit}", "limit") for limit in ("0", "1001", "-1", "x", "", "1.5", "٣", "9" * 5_000)),
        ("cursor=x", "cursor"),
        ("cursor=", "cursor"),
    ],
)
def test_a_limit_or_cursor_that_cannot_be_is_refused_by_name(query: str, field: str, db: None) -> None:
    with pytest.raises(Refused) as refused:
        page_of(query)

    (error,) = refused.value.problem.errors
    assert (refused.value.problem.status, error.field, error.code) == (400, field, "invalid")


def test_the_schema_describes_what_is_taken_and_given() -> None:
    paging: Any = NewestFirst()

    cursor, limit = paging.get_schema_operation_parameters(None)
    answer = paging.get_paginated_response_schema({"type": "array"})

    assert (cursor["name"], limit["name"]) == ("cursor", "limit")
    assert (limit["schema"]["minimum"], limit["schema"]["maximum"], limit["schema"]["default"]) == (1, 1000, 100)
    assert answer["required"] == list(answer["properties"]) == ["next", "results"]
