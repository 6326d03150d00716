"""Peaks ahead that come faster than the limit of their biz type lets them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.db.models import F

from tasksapp.models import BizType, Upcoming
from tasksapp.stats.capacity import Capacity, Limit
from tasksapp.stats.drain import LEAST_WAIT_SECONDS, Peak, peaks_of
from tasksapp.stats.upcoming import FINE_SECONDS, Arrivals, read_arrivals

#: They wait so long only where a stretch, or each of two that touch, has more than the limit lets out in these seconds.
#: In the 20 seconds of a ramp fewer may wait so long; they are over before anybody acts on a forecast, so that a ramp
#: counts only for a biz type that has such a stretch anyway.
CROWDED_SECONDS = LEAST_WAIT_SECONDS / 2


def read_limit_peaks(biz_types: Iterable[BizType], *, fullest: int, now: datetime) -> list[Peak]:
    """The peaks of the next day, as :func:`limit_peaks` has them; one query, or none where there can be no peak.

    Args:
        biz_types: the biz types.
        fullest: the jobs of all biz types in the fullest stretch of the day.
        now: the present.
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
    crowded = Upcoming.objects.filter(
        span_seconds=FINE_SECONDS,
        biz_type__in=[biz_type.pk for biz_type in limited],
        jobs__gte=F("biz_type__delivery_rate") * CROWDED_SECONDS,
    )
    arrivals = read_arrivals(biz_type_ids=crowded.values("biz_type_id"))
    return limit_peaks(limited, arrivals=arrivals, now=now)


def limit_peaks(
    biz_types: Iterable[BizType], *, arrivals: Mapping[int, Sequence[Arrivals]], now: datetime
) -> list[Peak]:
    """The peaks of the next day against the rates that people set, the one with the longest wait first.

    Receivers that are slower than the limit, and retries, make it later; a forecast of one biz type knows them.
    A biz type that is paused or disabled at this moment has none.

    Args:
        biz_types: the biz types.
        arrivals: the jobs of the next day, by the id of their biz type.
        now: the present.
    """
    found: list[Peak] = []
    for biz_type in biz_types:
        if biz_type.delivery_rate is not None and biz_type.pk in arrivals and not biz_type.is_shut(now=now):
            limit = Capacity(biz_type.delivery_rate, Limit.RATE, True)
            found += peaks_of(biz_type, limit, arrivals[biz_type.pk], waiting=0, now=now)
    return sorted(found, key=lambda peak: (-peak.late_seconds, peak.at))
