"""Requests: what is the same request stays the same request, also after an upgrade."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tasksapp.jobs.requests import Accepted, JobRequest, checked
from tasksapp.models import BizType

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

#: Hashes as the first release made them: a caller's idempotency keys outlive an upgrade.
HASHES: list[tuple[dict[str, Any], str]] = [
    # nothing but the biz type
    ({}, "ae9a87661040aa8448a7d132aa07b45739a67775845fd4ebfb54b2ff7c19c7ba"),
    # a delay, and a body whose order does not matter
    (
        {"biz_id": "order-42", "delay": 60, "body": {"b": 2, "a": [1.5, None, "ä"]}},
        "34eb38db34bdcff05fde064ef79405c15d07c97f8ae810efac5efdcc4b7bd1dd",
    ),
    (
        {"biz_id": "order-42", "delay": timedelta(minutes=1), "body": {"a": [1.5, None, "ä"], "b": 2}},
        "34eb38db34bdcff05fde064ef79405c15d07c97f8ae810efac5efdcc4b7bd1dd",
    ),
    # numbers
    (
        {"delay": timedelta(minutes=30), "priority": 0, "max_attempts": 7},
        "1a861e513065e2e5e7164c13092559146aadd3fb681dddf30a7880e2344e7788",
    ),
    # a due time; the trace context does not count
    (
        {"due_at": "2026-02-03T04:05:06.789+01:00", "body": "text", "traceparent": TRACE},
        "41309ca6671b08694951dbf311f1e3817688ace2f1c4cec79cc7c5a2adbab13e",
    ),
    (
        {"due_at": "2026-02-03T03:05:06.789Z", "body": "text"},
        "41309ca6671b08694951dbf311f1e3817688ace2f1c4cec79cc7c5a2adbab13e",
    ),
    # a debounce key counts where there is one
    (
        {"debounce_key": "cart-7", "delay": 0.25, "body": [], "biz_id": "cart-7"},
        "e49845333409aaf92f3fbab1af7b1ad2d6ecbdf6e854317825e8ecbe173b26cb",
    ),
    (
        {"priority": 9, "debounce_key": None, "biz_id": "", "body": False},
        "82c020fc229a6d03a0ceb75b445d6ec864f9eb12713889ba3dbd4495136b73a2",
    ),
]


@pytest.mark.parametrize(("fields", "known"), HASHES)
def test_the_hash_of_a_request_is_the_one_it_always_was(biz_type: BizType, fields: dict[str, Any], known: str) -> None:
    (accepted,) = checked([JobRequest("order.close", **fields)], now=NOW, using="default").outcomes

    assert isinstance(accepted, Accepted)
    assert accepted.request_hash() == known
