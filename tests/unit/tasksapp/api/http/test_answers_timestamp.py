"""A moment as callers see it: ISO 8601 in UTC, to the microsecond."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tasksapp.api.http.answers import timestamp


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 7, tzinfo=UTC), "2026-01-02T03:04:05.000007Z"),
        (None, None),
    ],
)
def test_a_moment_becomes_text(moment: datetime | None, text: str | None) -> None:
    assert timestamp(moment) == text


def test_the_text_is_that_moment_again() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)

    assert datetime.fromisoformat(timestamp(moment) or "") == moment
