"""Filters of jobs, in words and as addresses."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.http import QueryDict

from tasksapp.admin.frame.filter_words import filter_of, filter_words, query_of, stored_filter
from tasksapp.errors import InvalidJob
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import Operation, Status
from tasksapp.models.error_class import error_class_label

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
EVERYTHING = JobFilter(
    status=Status.DEAD,
    biz_type="order.close",
    error_class="http.503",
    biz_id="A-*",
    flow_key="shop-7",
    ids=(UUID(int=1), UUID(int=2)),
    due_from=NOON,
    due_until=NOON,
    next_from=NOON,
    next_until=NOON,
    ended_from=NOON,
    ended_until=NOON,
    operation=17,
    series=9,
    occurrence_from=NOON,
    occurrence_until=NOON,
)
#: The conditions that are in titles, not among the phrases.
IN_TITLES = {"status", "biz_type"}


def test_every_condition_beyond_biz_type_and_status_has_its_phrase() -> None:
    words = filter_words(EVERYTHING, series={9: "nightly"})

    assert words.keys() == {field.name for field in fields(JobFilter)} - IN_TITLES
    assert list(words.values()) == [
        f"last error: {error_class_label('http.503')}",
        "biz id begins with “A-”",
        "flow key is “shop-7”",
        "2 chosen jobs",
        "of the series “nightly”",
        "due at 2026-07-01 12:00:00 UTC or later",
        "due before 2026-07-01 12:00:00 UTC",
        "next run at 2026-07-01 12:00:00 UTC or later",
        "next run before 2026-07-01 12:00:00 UTC",
        "ended at 2026-07-01 12:00:00 UTC or later",
        "ended before 2026-07-01 12:00:00 UTC",
        "occurrence at 2026-07-01 12:00:00 UTC or later",
        "occurrence before 2026-07-01 12:00:00 UTC",
        "last changed by operation 17",
    ]


def test_a_whole_biz_id_is_no_beginning() -> None:
    assert filter_words(JobFilter(biz_id="A-1")) == {"biz_id": "biz id is “A-1”"}


def test_an_address_gives_the_filter_back() -> None:
    assert filter_of(QueryDict(query_of(EVERYTHING))) == EVERYTHING


def test_parameters_for_something_else_are_no_part_of_the_filter() -> None:
    assert filter_of(QueryDict("verb=redrive&biz_type=a"), apart=frozenset({"verb"})) == JobFilter(biz_type="a")


@pytest.mark.parametrize(
    "query", ["colour=red", "status=lost", "due_from=noon", "ids=1", "operation=-1", "biz_type=%00"]
)
def test_an_address_that_means_nothing_is_refused(query: str) -> None:
    with pytest.raises(InvalidJob):
        filter_of(QueryDict(query))


@pytest.mark.parametrize("stored", [{"colour": "red"}, "text", None])
def test_what_a_later_release_stored_is_no_error(stored: object) -> None:
    assert stored_filter(Operation(job_filter=stored)) == JobFilter()
