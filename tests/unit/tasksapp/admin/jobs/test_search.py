"""Addresses of the list of jobs: what they ask for, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.http import QueryDict
from django.utils import timezone

from tasksapp.admin.jobs.search import BadSearch, JobSearch, page_name
from tasksapp.admin.jobs.tabs import TABS
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.listing import Position
from tasksapp.models import Status

NOW = datetime(2026, 11, 22, 22, 14, 3, tzinfo=UTC)
JOB = UUID("01a2020f-f48f-7567-92b4-0bdd6ff20da8")


def search(address: str) -> JobSearch:
    return JobSearch.parse(QueryDict(address))


@pytest.mark.parametrize(
    ("address", "tab"),
    [
        ("", "pending"),
        ("tab=dead", "dead"),
        ("status=dead&biz_type=order.close", "dead"),
        ("status=cancelled", "off"),
        ("status=pending&tab=due", "due"),
        ("q=order-7", "all"),
        ("q=order-7&tab=dead", "dead"),
        ("operation=17", "all"),
        (f"ids={JOB}&ids={JOB}", "all"),
    ],
)
def test_the_tab_is_the_one_that_is_named_or_that_has_the_jobs(address: str, tab: str) -> None:
    assert search(address).tab is TABS[tab]


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("q=order-7", JobFilter(biz_id="order-7")),
        ("q=%20order-7*", JobFilter(biz_id="order-7*")),
        (f"q={JOB}", JobFilter(ids=(JOB,))),
        (f"q={JOB.hex}", JobFilter(ids=(JOB,))),
        ("tab=dead&error_class=http.503", JobFilter(status=Status.DEAD, error_class="http.503")),
        ("tab=due", JobFilter(status=Status.PENDING, next_until=NOW)),
        (
            "tab=pending&next_from=2026-11-23T10:00",
            JobFilter(status=Status.PENDING, next_from=datetime(2026, 11, 23, 9, tzinfo=UTC)),
        ),
        ("tab=dead&biz_type=order.close&q=body:c-123", JobFilter(status=Status.DEAD, biz_type="order.close")),
    ],
)
def test_the_filter_is_what_operations_take(address: str, found: JobFilter) -> None:
    with timezone.override("Europe/Berlin"):
        assert search(address).whole_filter(now=NOW) == found


def test_a_range_by_its_name_is_part_of_the_filter() -> None:
    with timezone.override("UTC"):
        found = search("tab=dead&range=yesterday").whole_filter(now=NOW)

    assert (found.ended_from, found.ended_until) == (
        datetime(2026, 11, 21, tzinfo=UTC), datetime(2026, 11, 22, tzinfo=UTC),
    )  # fmt: skip


@pytest.mark.parametrize(
    "address",
    [
        "foo=1",
        "biz_type__id__exact=1",
        "tab=nothing",
        "status=nothing",
        "tab=dead&status=pending",
        "next_from=soon",
        "next_from=9999999-01-01",
        "next_from=0001-01-01T00:00%2B10:00",
        "page=9999-12-31T23:59:59-15:00~01a20248-62ed-7475-b144-f80bd6a67faa",
        "operation=seventeen",
        "ids=1",
        "range=tomorrow&tab=dead",
        "range=hour&tab=running",
        "q=%00",
        "q=" + "a" * 2_000,
        "tab=all&biz_type=order.close",
        "tab=dead&q=body:",
        "tab=dead&q=body:c-123",
        "tab=all&biz_type=order.close&q=body:c-123",
        "tab=off&biz_type=order.close&q=body:c-123",
        "page=nonsense",
        "page=~",
        f"page={JOB}",
        f"page=2026-11-22T10:00~{JOB}",
        f"tab=all&page=2026-11-22T10:00Z~{JOB}",
        "biz_type=" + "a" * 200,
    ],
)
def test_what_the_list_cannot_show_is_refused_with_a_sentence(address: str) -> None:
    with pytest.raises(BadSearch, match=r"\w+ \w+"):
        search(address)


@pytest.mark.parametrize("position", [Position(NOW, JOB), Position(None, JOB)])
def test_a_page_is_found_again_by_its_name(position: Position) -> None:
    tab = "all" if position.moment is None else "pending"

    assert search(QueryDict("", mutable=True).urlencode() + f"tab={tab}").after is None
    query = QueryDict(mutable=True)
    query.update({"tab": tab, "page": page_name(position)})
    assert search(query.urlencode()).after == position


def test_an_address_asks_for_the_same_again() -> None:
    first = search("tab=dead&biz_type=order.close&q=a*&range=today&o=turned&error_class=timeout")

    assert search(first.address()[1:]) == first
    assert "page=" not in first.address()


def test_another_tab_keeps_what_means_something_there() -> None:
    here = search("tab=dead&biz_type=order.close&error_class=timeout&range=today&ended_from=2026-11-22T10:00Z&q=a*")

    there = search(here.tab_address(TABS["pending"])[1:])

    assert there == search("tab=pending&biz_type=order.close&q=a*")


@pytest.mark.parametrize(
    ("address", "order"),
    [
        ("tab=pending", "next_run_at"),
        ("tab=pending&o=turned", "-next_run_at"),
        ("tab=dead&o=turned", "finished_at"),
        ("tab=running&o=turned", "lease_until"),
        ("tab=off", "-id"),
        ("tab=off&biz_type=order.close", "-finished_at"),
    ],
)
def test_the_order_is_one_that_an_index_has(address: str, order: str) -> None:
    assert search(address).order == order
