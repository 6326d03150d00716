"""The insert rate of a biz type: how many new jobs it takes, counted in Redis for all processes together."""

from __future__ import annotations

import logging
from typing import NamedTuple

import redis

from tasksapp.errors import TooManyInserts
from tasksapp.models import BizType
from tasksapp.timers.lanes import brisk_lane

logger = logging.getLogger(__name__)


class AllowedInserts(NamedTuple):
    """How many of the new jobs may be inserted, and the refusal for the others; None where all may."""

    count: int  # type: ignore[assignment]  # hides the count() of tuples, which is of no use here
    refusal: TooManyInserts | None


def allow_inserts(biz_type: BizType, *, count: int) -> AllowedInserts:
    """Books up to ``count`` new jobs on the biz type's insert rate.

    All are allowed while Redis does not answer: jobs are created without it too.
    """
    if biz_type.insert_rate is None:
        return AllowedInserts(count, None)
    try:
        admitted = brisk_lane(biz_type.lane).admit(
            biz_type.queue, count=count, rate_per_second=biz_type.insert_rate, burst=biz_type.insert_burst
        )
    except (redis.RedisError, OSError) as error:
        logger.warning("insert rate not counted: %s", error, extra={"action": "admit", "biz_type": biz_type.code})
        return AllowedInserts(count, None)
    if admitted.count == count:
        return AllowedInserts(count, None)
    refusal = TooManyInserts(biz_type.code, retry_after_seconds=admitted.wait_ms / 1000)
    return AllowedInserts(admitted.count, refusal)
