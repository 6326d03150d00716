"""What differs between the sample biz types as they were made and as they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delayhub.client import BizType
from delayhub.demo.samples import SAMPLES, changed
from tests.client_models import biz_type_like

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def there(**changes: Any) -> list[BizType]:
    """What the API says of the samples, the first of which was changed."""
    made = [biz_type_like(code=sample.code, max_attempts=sample.max_attempts) for sample in SAMPLES]
    return [replace(made[0], **changes), *made[1:]]


def test_samples_as_they_were_made_are_no_news() -> None:
    assert changed([*there(), biz_type_like(code="one.of.a.person")], now=NOW) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"code": "order.closed"}, "the biz type order.close is gone"),
        ({"enabled": False}, "order.close is disabled"),
        ({"paused_until": NOW + timedelta(days=1)}, "order.close is paused"),
        ({"target": "celery"}, "order.close has target celery, not http"),
        ({"max_attempts": 1}, "order.close has max_attempts 1, not 5"),
    ],
)
def test_each_change_is_named(changes: dict[str, Any], said: str) -> None:
    assert changed(there(**changes), now=NOW) == [said]


def test_a_pause_that_is_over_is_no_news() -> None:
    assert changed(there(paused_until=NOW - timedelta(days=1)), now=NOW) == []
