"""The admin's form of a biz type, as a browser sends it."""

from __future__ import annotations

from typing import Any


def form_of(biz_type: dict[str, Any]) -> dict[str, Any]:
    """A biz type form with good values, apart from those given."""
    return {
        "code": "order.close",
        "enabled": "on",
        "target": "http",
        "method": "POST",
        "url": "https://receiver.example/hook",
        "headers": "{}",
        "auth": "none",
        "timeout_seconds": "10",
        "max_attempts": "16",
        "backoff": "exponential",
        "backoff_min_seconds": "10",
        "backoff_max_seconds": "3600",
        "backoff_factor": "2",
        "backoff_list": "[]",
        "jitter": "0.1",
        "permanent_status_codes": "[]",
        "insert_burst": "100",
        "delivery_burst": "1",
        "key_burst": "1",
        "ordered": "no",
        "weight": "1",
        "priority": "5",
        "guarantee": "at_least_once",
        "when_late": "fire",
        "one_live": "any",
        "retention": "30 00:00:00",
        "lane": "delayhub.timers",
        **biz_type,
    }
