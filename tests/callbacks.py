"""Callbacks to send, with plain values."""

from __future__ import annotations

from typing import Any

from delayhub.engine import SystemClock
from tasksapp.delivery.callback import Callback, Target

CLOCK = SystemClock()


def callback(
    url: str = "http://receiver.example/hook",
    *,
    job_id: str = "job-1",
    body: bytes = b'{"a":1}',
    lease_seconds: float = 60.0,
    **target: Any,
) -> Callback:
    """A first attempt of three, due now and leased for so long; ``target`` are fields of its :class:`Target`."""
    now = CLOCK.now_ms()
    return Callback(
        job_id=job_id,
        token=1,
        target=Target(**{"biz_type": "close", "url": url, "host": "host", "timeout_seconds": 5.0, **target}),
        body=body,
        due_ms=now,
        run_at_ms=now,
        attempt=1,
        max_attempts=3,
        lease_ends=CLOCK.monotonic() + lease_seconds,
    )


def numbered_callback(
    number: int, biz_type: str = "close", *, host: str = "", lease: float = 60.0, once: bool = False, key: str = ""
) -> Callback:
    """A callback of its own id, which nothing sends."""
    made = callback(
        job_id=f"{biz_type}-{number}",
        biz_type=biz_type,
        host=host or biz_type,
        timeout_seconds=1.0,
        at_most_once=once,
        lease_seconds=lease,
    )
    made.flow_key = key
    return made
