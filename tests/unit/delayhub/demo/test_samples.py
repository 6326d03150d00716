"""What differs between the sample biz types as they were made and as they are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delayhub.demo.samples import SAMPLES, changed

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def rows(**changes: Any) -> list[dict[str, Any]]:
    """What the API says of the samples, the first of which was changed."""
    made = [
        {
            "code": sample.code,
            "enabled": True,
            "paused_until": None,
            "target": "http",
            "guarantee": "at_least_once",
            "max_attempts": sample.max_attempts,
        }
        for sample in SAMPLES
    ]
    made[0].update(changes)
    return made


def test_samples_as_they_were_made_are_no_news() -> None:
    assert changed([*rows(), {"code": "one.of.a.person"}], now=NOW) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"code": "order.closed"}, "the biz type order.close is gone"),
        ({"enabled": False}, "order.close is disabled"),
        ({"paused_until": "9999-12-31T00:00:00Z"}, "order.close is paused"),
        ({"target": "celery"}, "order.close has target celery, not http"),
        ({"max_attempts": 1}, "order.close has max_attempts 1, not 5"),
    ],
)
def test_each_change_is_named(changes: dict[str, Any], said: str) -> None:
    assert changed(rows(**changes), now=NOW) == [said]


def test_a_pause_that_is_over_is_no_news() -> None:
    assert changed(rows(paused_until=(NOW - timedelta(days=1)).isoformat()), now=NOW) == []
