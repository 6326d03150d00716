"""Peaks ahead that come faster than the limit of their biz type lets them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import F

from tasksapp.models import BizType, Upcoming
from tasksapp.stats.backlog import Pace, busy_times
from tasksapp.stats.upcoming import FINE_SECONDS, Arrivals, read_arrivals

#: Jobs that wait for less than this at a peak are no news.
LEAST_WAIT = timedelta(seconds=5)
#: They wait so long only where a stretch, or each of two that touch, has more than the limit lets out in these seconds.
CROWDED_SECONDS = LEAST_WAIT.total_seconds() / 2
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


def read_limit_peaks(
    biz_types: Iterable[BizType], *, fullest: int, now: datetime, using: str | None = None
) -> list[LimitPeak]:
    """The peaks of the next day, as :func:`limit_peaks` has them; one query, or none where there can be no peak.

    Args:
        biz_types: the biz types.
        fullest: the jobs of all biz types in the fullest stretch of the day.
        now: the present.
        using: the database.
    """
    limited = [
        biz_type
        for biz_type in biz_types
        if biz_type.delivery_rate is not None
        and biz_type.delivery_rate * CROWDED_SECONDS <= fullest
        and not biz_type.is_shut(now=now)
    ]
    if not limited:
        return []
    crowded = Upcoming.objects.using(using).filter(
        span_seconds=FINE_SECONDS,
        biz_type__in=[biz_type.pk for biz_type in limited],
        jobs__gte=F("biz_type__delivery_rate") * CROWDED_SECONDS,
    )
    arrivals = read_arrivals(biz_type_ids=crowded.values("biz_type_id"), using=using)
    return limit_peaks(limited, arrivals=arrivals, now=now)


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
