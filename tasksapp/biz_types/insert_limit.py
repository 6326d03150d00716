"""The insert rate of a biz type: how many new jobs it takes, counted in Redis for all processes together."""

from __future__ import annotations

import logging
from typing import NamedTuple

from tasksapp.errors import AWAY, TooManyInserts
from tasksapp.models import BizType
from tasksapp.timers.lanes import brisk_lane

logger = logging.getLogger(__name__)


class InsertLimit(NamedTuple):
    """What is left of the insert rate of a biz type.

    Args:
        biz_type: its code.
        rate_per_second: how many jobs it takes in the long run.
        burst: how many it takes at once after a pause.
        left: how many it would take now.
        more_in_seconds: how long until it takes more: one where none is left, else as many as the burst.
    """

    biz_type: str
    rate_per_second: float
    burst: int
    left: int
    more_in_seconds: float


class AllowedInserts(NamedTuple):
    """How many of the new jobs may be inserted, and the refusal for the others; None where all may.

    ``limit``: what is left of the insert rate; None where there is none, or Redis does not answer.
    """

    count: int  # type: ignore[assignment]  # hides the count() of tuples, which is of no use here
    refusal: TooManyInserts | None
    limit: InsertLimit | None = None


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
    except AWAY as error:
        logger.warning("insert rate not counted: %s", error, extra={"action": "admit", "biz_type": biz_type.code})
        return AllowedInserts(count, None)
    more_in = (admitted.full_ms if admitted.left else admitted.wait_ms) / 1000
    limit = InsertLimit(biz_type.code, biz_type.insert_rate, biz_type.insert_burst, admitted.left, more_in)
    if admitted.count == count:
        return AllowedInserts(count, None, limit)
    refusal = TooManyInserts(
        biz_type.code,
        retry_after_seconds=admitted.wait_ms / 1000,
        rate_per_second=biz_type.insert_rate,
        burst=biz_type.insert_burst,
    )
    return AllowedInserts(admitted.count, refusal, limit)
