"""How many new jobs a biz type takes: counted in Redis for all processes, and not counted without it."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.biz_types.insert_limit import AllowedInserts, allow_inserts
from tasksapp.models import BizType


def biz_type(**fields: Any) -> BizType:
    return BizType(code="order.close", **fields)


def test_without_a_rate_all_are_allowed() -> None:
    assert allow_inserts(biz_type(), count=10_000) == AllowedInserts(10_000, None)


def test_up_to_the_burst_are_allowed_at_once_and_the_rest_is_refused_until_a_time() -> None:
    limited = biz_type(insert_rate=0.5, insert_burst=3)

    first = allow_inserts(limited, count=2)
    second = allow_inserts(limited, count=2)
    third = allow_inserts(limited, count=1)

    assert (first.count, first.refusal) == (2, None)
    assert first.limit is not None
    assert (first.limit.left, first.limit.burst, first.limit.rate_per_second) == (1, 3, 0.5)
    assert 3 < first.limit.more_in_seconds <= 4
    assert third.limit is not None
    assert (third.limit.left, 0 < third.limit.more_in_seconds <= 2) == (0, True)
    assert second.count == 1
    assert third.count == 0
    for refusal in (second.refusal, third.refusal):
        assert refusal is not None
        assert 0 < refusal.retry_after_seconds <= 2


def test_each_biz_type_has_a_rate_of_its_own() -> None:
    allow_inserts(biz_type(insert_rate=0.5, insert_burst=1), count=1)
    other = BizType(code="other", insert_rate=0.5, insert_burst=1)

    assert allow_inserts(other, count=1).refusal is None


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "sentinel://127.0.0.1:1/0"])  # the second names no Redis
def test_without_redis_all_are_allowed_and_that_is_logged(
    settings: Any, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": url}

    assert allow_inserts(biz_type(insert_rate=0.5, insert_burst=1), count=9) == AllowedInserts(9, None)
    assert "insert rate not counted" in caplog.text
