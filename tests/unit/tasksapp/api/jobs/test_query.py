"""What a list is asked for, read from the query of its address."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.http import QueryDict

from tasksapp.api.jobs.query import JobQuery, cursor_of
from tasksapp.jobs.listing import Position
from tasksapp.models import Status

ID = UUID(int=7)
AT = datetime(2027, 1, 31, 8, 30, 0, 123, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "position"),
    [("", Position(None, ID)), ("order=next_run_at&status=pending", Position(AT, ID))],
)
def test_a_cursor_is_read_as_it_was_written(query: str, position: Position) -> None:
    params = QueryDict(query, mutable=True)
    params["cursor"] = cursor_of(position)

    assert JobQuery.parse(params, dead=False).after == position


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("", "-id"),
        ("status=dead", "-id"),
        # a search goes through an order of times
        ("status=pending&biz_type=a&body=x", "next_run_at"),
        ("status=dead&status=dropped&biz_type=a&body=x", "-finished_at"),
    ],
)
def test_the_order_follows_from_what_is_asked(query: str, order: str) -> None:
    assert JobQuery.parse(QueryDict(query), dead=False).order == order


def test_dead_jobs_are_in_the_order_of_their_deaths() -> None:
    query = JobQuery.parse(QueryDict("limit=5"), dead=True)

    assert (query.statuses, query.order, query.limit) == ((Status.DEAD,), "-finished_at", 5)


def test_a_time_is_read_to_the_microsecond() -> None:
    query = JobQuery.parse(QueryDict("due_from=2027-01-31T08:30:00.000123Z"), dead=False)

    assert query.job_filter.due_from == AT
