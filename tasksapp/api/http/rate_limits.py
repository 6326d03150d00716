"""``RateLimit`` and ``RateLimit-Policy`` (draft-ietf-httpapi-ratelimit-headers): what is left of insert limits."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from tasksapp.biz_types.insert_limit import InsertLimit


def limit_headers(limits: Sequence[InsertLimit]) -> dict[str, str]:
    """The headers of an answer; none where no limit decided. Each limit is named by its biz type's code.

    A limit is a bucket: so many jobs at once, which come back at the rate. Its window is how long an empty one takes to
    be full again.
    """
    if not limits:
        return {}
    policies, left = [], []
    for limit in limits:
        window = max(1, ceil(limit.burst / limit.rate_per_second))
        policies.append(f'"{limit.biz_type}";q={limit.burst};w={window}')
        left.append(f'"{limit.biz_type}";r={limit.left};t={ceil(limit.more_in_seconds)}')
    return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(left)}
