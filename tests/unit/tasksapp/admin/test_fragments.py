"""Pieces of HTML: what is put in is escaped, and a count that ended early says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tasksapp.admin.fragments import badge, indented_json, job_count, local_time
from tasksapp.stats.counts import FARTHEST

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def test_a_time_is_local_and_says_how_far_away_it_is(settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"

    assert "2030-01-01 14:00:00" in local_time(NOW + timedelta(hours=1), now=NOW)
    assert "in 1\xa0hour" in local_time(NOW + timedelta(hours=1), now=NOW)
    assert "1\xa0hour ago" in local_time(NOW - timedelta(hours=1), now=NOW)
    assert ">-<" in local_time(None)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"a": [1]}', "{\n  &quot;a&quot;: [\n    1\n  ]\n}"),
        ("not <json>", "not &lt;json&gt;"),
    ],
)
def test_json_is_indented_and_everything_is_escaped(text: str, shown: str) -> None:
    assert shown in indented_json(text)
    assert "&lt;b&gt;" in badge("<b>", "dead")


def test_a_count_that_ended_early_says_so() -> None:
    assert job_count(FARTHEST - 1) == "9999"
    assert job_count(FARTHEST) == "10000+"
