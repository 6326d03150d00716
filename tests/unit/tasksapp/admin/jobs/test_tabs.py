"""Tabs of the list of jobs, and ranges of time by their names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from tasksapp.admin.jobs.columns import COLUMNS
from tasksapp.admin.jobs.tabs import SPANS, TABS
from tasksapp.models import Status

NOW = datetime(2026, 11, 22, 22, 14, 3, tzinfo=UTC)


def test_every_status_is_in_a_tab_whose_columns_and_verbs_there_are() -> None:
    assert {status for tab in TABS.values() for status in tab.statuses} == set(Status)
    for tab in TABS.values():
        assert set(tab.columns) <= set(COLUMNS)
        assert all(verb.source in tab.statuses for verb in tab.verbs)
        assert tab.is_sortable == (tab.span in SPANS)


@pytest.mark.parametrize(
    ("kind", "name", "begin", "end"),
    [
        ("next", "hour", "2026-11-22T22:14:03+00:00", "2026-11-22T23:14:03+00:00"),
        ("next", "tonight", "2026-11-22T17:00:00+00:00", "2026-11-23T05:00:00+00:00"),
        ("next", "tomorrow", "2026-11-22T23:00:00+00:00", "2026-11-23T23:00:00+00:00"),
        ("ended", "today", "2026-11-21T23:00:00+00:00", "2026-11-22T23:00:00+00:00"),
        ("ended", "yesterday", "2026-11-20T23:00:00+00:00", "2026-11-21T23:00:00+00:00"),
    ],
)
def test_a_range_is_one_of_the_persons_own_days(kind: str, name: str, begin: str, end: str) -> None:
    with timezone.override("Europe/Berlin"):
        found = SPANS[kind][name].resolve(NOW)

    assert [time.astimezone(UTC).isoformat() for time in found] == [begin, end]


def test_a_day_on_which_the_clock_changes_begins_and_ends_at_midnight() -> None:
    with timezone.override("Europe/Berlin"):
        begin, end = SPANS["ended"]["today"].resolve(datetime(2026, 10, 25, 12, tzinfo=UTC))

    assert (end.astimezone(UTC) - begin.astimezone(UTC)).total_seconds() == 25 * 3_600
