"""The longest age of a job: when it begins, and when it is used up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tasksapp.models import Job
from tasksapp.models.job import age_begins, age_used_up

DUE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("late", "max_age", "used_up"),
    [
        (timedelta(hours=1), timedelta(hours=1), False),
        (timedelta(hours=1, microseconds=1), timedelta(hours=1), True),
        # without an age none is used up
        (timedelta(days=9999), None, False),
        # no age reaches beyond the end of time
        (timedelta(0), timedelta.max, False),
    ],
)
def test_an_age_is_used_up_once_it_has_passed(late: timedelta, max_age: timedelta | None, *, used_up: bool) -> None:
    assert age_used_up(now=DUE + late, counted_from=DUE, max_age=max_age) is used_up


def test_an_age_begins_at_the_due_time_and_again_at_a_redrive() -> None:
    assert age_begins(Job(due_at=DUE)) == DUE
    assert age_begins(Job(due_at=DUE, redriven_at=DUE + timedelta(days=1))) == DUE + timedelta(days=1)
