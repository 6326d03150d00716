"""The insert rate of a biz type, counted in Redis for all processes together."""

from __future__ import annotations

import logging
from typing import NamedTuple

import redis

from tasksapp.errors import TooManyInserts
from tasksapp.models import BizType
from tasksapp.timers.lanes import brisk_lane

logger = logging.getLogger(__name__)


class Admission(NamedTuple):
    """How many jobs may come in, and the refusal for the others."""

    count: int  # type: ignore[assignment]  # hides the count() of tuples, which nobody wants here
    refusal: TooManyInserts | None


def admit(biz_type: BizType, *, count: int) -> Admission:
    """Books up to ``count`` new jobs. While Redis is away all may come in: creating goes on without it."""
    if biz_type.insert_rate is None:
        return Admission(count, None)
    try:
        admitted = brisk_lane(biz_type.lane).admit(
            biz_type.code, count=count, rate_per_second=biz_type.insert_rate, burst=biz_type.insert_burst
        )
    except (redis.RedisError, OSError) as error:
        logger.warning("insert rate not counted: %s", error, extra={"action": "admit", "biz_type": biz_type.code})
        return Admission(count, None)
    if admitted.count == count:
        return Admission(count, None)
    return Admission(admitted.count, TooManyInserts(biz_type.code, retry_after_seconds=admitted.wait_ms / 1000))
