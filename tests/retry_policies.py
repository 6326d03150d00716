"""Retry policies for tests, of biz types that are not stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tasksapp.jobs.retry_policy import RetryPolicy
from tasksapp.models import BizType


def retry_policy(
    backoff: str = "exponential", *, waits: Any = (), expires_at: datetime | None = None, **fields: Any
) -> RetryPolicy:
    """A policy of 10 seconds to an hour, or as the fields say, which are those of a biz type; ``waits`` is its list."""
    of_backoff = {"min_seconds": 10.0, "max_seconds": 3600.0}
    names = ("min_seconds", "max_seconds", "factor", "max_doublings")
    of_backoff |= {name: fields.pop(name) for name in names if name in fields}
    biz_type = BizType(
        backoff=backoff,
        backoff_list=list(waits),
        **{f"backoff_{name}": value for name, value in of_backoff.items()},
        **{"jitter": 0.0, **fields},
    )
    return RetryPolicy(biz_type=biz_type, expires_at=expires_at)
