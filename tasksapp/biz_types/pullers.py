"""Whether pullers ask for the jobs of biz types that are pulled."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from delayhub.clock import moment
from tasksapp.models import BizType
from tasksapp.timers.lanes import brisk_lane, tried

#: A puller waits for half a minute at most and asks again; one that is run every minute asks that often.
SILENCE = timedelta(minutes=2)


def without_puller(biz_types: Iterable[BizType]) -> dict[str, datetime | None]:
    """By queue, those that are pulled and for which no puller has asked lately: since when, None for never.

    Empty where Redis does not answer; it is asked once.
    """
    pulled = [biz_type for biz_type in biz_types if biz_type.is_pulled]
    if not pulled:
        return {}
    lanes = [brisk_lane(biz_type.timer_lane) for biz_type in pulled]

    def ask() -> dict[str, datetime | None]:
        with lanes[0].client.pipeline(transaction=False) as pipeline:
            pipeline.time()
            pipeline.mget([lane.keys.claimed for lane in lanes])
            (seconds, micros), asked = pipeline.execute()
        now = moment(seconds * 1000 + micros // 1000)
        last = {
            biz_type.queue: None if at_ms is None else moment(int(at_ms))
            for biz_type, at_ms in zip(pulled, asked, strict=True)
        }
        return {queue: at for queue, at in last.items() if at is None or now - at > SILENCE}

    return tried(ask, action="look") or {}
