"""Peaks ahead that come faster than the limit of their biz type lets them out; by no query of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from tasksapp.models import BizType
from tasksapp.stats.backlog import Pace, busy_times
from tasksapp.stats.upcoming import Arrivals

#: Jobs that wait for less than this at a peak are no news.
LEAST_WAIT = timedelta(seconds=5)
#: How far ahead is looked.
HORIZON = timedelta(hours=24)


class LimitPeak(NamedTuple):
    """Jobs that are due faster than their limit lets them out.

    Args:
        biz_type: their biz type.
        at: when the first of them is due.
        jobs: how many there are.
        per_second: the limit.
        done_at: when the last of them goes out; None where that is not within a day.
        wait: how late the latest of them is.
    """

    biz_type: BizType
    at: datetime
    jobs: int
    per_second: float
    done_at: datetime | None
    wait: timedelta


def limit_peaks(
    biz_types: Iterable[BizType], *, arrivals: Mapping[int, Sequence[Arrivals]], now: datetime
) -> list[LimitPeak]:
    """The peaks of the next day against the rates that people set, the one with the longest wait first.

    Receivers that are slower than the limit, and retries, make it later; a forecast of one biz type knows them.
    A biz type that is paused or disabled at this moment has none.

    Args:
        biz_types: the biz types.
        arrivals: the jobs of the next day, by the id of their biz type.
        now: the present.
    """
    found = []
    for biz_type in biz_types:
        if biz_type.delivery_rate is None or biz_type.pk not in arrivals or biz_type.is_shut(now=now):
            continue
        paces = [Pace(now, biz_type.delivery_rate)]
        for busy in busy_times(start=now, waiting=0, arrivals=arrivals[biz_type.pk], paces=paces, until=now + HORIZON):
            wait = timedelta(seconds=busy.wait_seconds)
            if wait >= LEAST_WAIT:
                found.append(
                    LimitPeak(biz_type, busy.begins, round(busy.jobs), biz_type.delivery_rate, busy.ends, wait)
                )
    return sorted(found, key=lambda peak: (-peak.wait, peak.at))
