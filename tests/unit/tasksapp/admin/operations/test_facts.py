"""What a person should know before an operation starts, as far as it needs no server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tasksapp.admin.operations.facts import breadth, facts, finish_words, limits, rate_words, slower_than_the_pace
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import BizType, Operation, Status
from tasksapp.operations.cursor import Ages, Cursor

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def operation(verb: str = "redrive", planned: int = 44_667, *, ages: Ages | None = None, **fields: Any) -> Operation:
    cursor = Cursor()
    cursor.ages = ages or Ages()
    return Operation(verb=verb, planned=planned, cursor=cursor.as_dict(), **fields)


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (74.445, "74.4 a second: will finish at 2026-07-01 12:10:00, in 10 min."),
        (None, "Goes as fast as possible."),
        (1e-300, "1e-300 a second: will finish at never"),
    ],
)
def test_the_end_is_known_from_the_pace(rate: float | None, words: str) -> None:
    assert finish_words(operation(), rate, now=NOON).startswith(words)


def test_rescheduled_jobs_are_spread_from_their_new_time_on() -> None:
    moved = operation("reschedule", planned=3_600, due_at=NOON + timedelta(hours=1))

    assert finish_words(moved, 1.0, now=NOON) == "1 a second: the last one becomes due at 2026-07-01 14:00:00."
    assert finish_words(moved, None, now=NOON) == "All of them become due at 2026-07-01 13:00:00."


def test_a_biz_type_that_delivers_slower_than_the_pace_is_named() -> None:
    slow = operation(biz_type=BizType(code="order.close", delivery_rate=10), planned=600)

    assert "order.close delivers 10 a second at most" in slower_than_the_pace(slow, None, now=NOON)
    assert "12:01:00" in slower_than_the_pace(slow, 50.0, now=NOON)
    assert slower_than_the_pace(slow, 5.0, now=NOON) == ""
    assert slower_than_the_pace(operation("drop", biz_type=slow.biz_type), None, now=NOON) == ""
    assert slower_than_the_pace(operation(), None, now=NOON) == ""
    assert len(limits(slow, None, now=NOON)) == 2
    assert "Fresh jobs keep their time" in limits(operation(), None, now=NOON)[0]
    assert limits(operation("cancel"), None, now=NOON) == []


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("run_now", "25 % (10) are older than the max age of their biz type: they would be dead at once."),
        ("redrive", "A redrive gives them a new age, so they are sent all the same."),
    ],
)
def test_jobs_beyond_their_max_age_are_counted(verb: str, words: str) -> None:
    ages = Ages(NOON - timedelta(hours=2), NOON - timedelta(seconds=41), older=10)

    first, second = facts(operation(verb, planned=40, ages=ages), now=NOON)

    assert "2\xa0hours ago" in first
    assert "41 s ago" in first
    assert words in second


def test_nothing_is_said_of_ages_that_do_not_matter() -> None:
    ages = Ages(NOON, NOON, older=0)

    assert len(facts(operation("cancel", ages=Ages(NOON, NOON, older=5)), now=NOON)) == 1
    assert len(facts(operation(ages=ages), now=NOON)) == 1
    assert facts(operation(), now=NOON) == []


def test_a_filter_that_leaves_out_no_job_is_warned_of() -> None:
    assert "every biz type" in breadth(JobFilter(status=Status.DEAD))
    assert breadth(JobFilter(biz_type="order.close")) == ""


@pytest.mark.parametrize(("rate", "words"), [(0.25, "0.25"), (74.445, "74.4"), (1_234.5, "1,234")])
def test_a_rate_has_as_many_digits_as_help(rate: float, words: str) -> None:
    assert rate_words(rate) == words
