"""The insert rate of a biz type holds for all processes, and for none while Redis is away."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.biz_types.insert_limit import AllowedInserts, allow_inserts
from tasksapp.models import BizType

pytestmark = pytest.mark.django_db


@pytest.fixture
def limited(biz_type: BizType) -> BizType:
    biz_type.insert_rate, biz_type.insert_burst = 0.01, 3
    return biz_type


def test_a_biz_type_without_a_rate_takes_all(biz_type: BizType) -> None:
    assert allow_inserts(biz_type, count=1_000) == AllowedInserts(1_000, None)


def test_what_is_over_the_rate_is_refused_until_a_time(limited: BizType) -> None:
    assert allow_inserts(limited, count=2) == AllowedInserts(2, None)

    count, refusal = allow_inserts(limited, count=5)

    assert count == 1
    assert refusal is not None
    assert refusal.biz_type == "order.close"
    assert 0 < refusal.retry_after_seconds <= 100


def test_all_are_taken_while_redis_is_away(limited: BizType, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}

    assert allow_inserts(limited, count=1_000) == AllowedInserts(1_000, None)
