"""What holds the due jobs of biz types at this moment, in words for people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from math import ceil

from django.utils import timezone

from delayhub.clock import due_ms
from tasksapp.biz_types.breaker import Breaker, read_breakers
from tasksapp.models import UNTIL_RESUMED, BizType
from tasksapp.timers.lanes import brisk_lane, tried


def holds(biz_types: Iterable[BizType], *, now: datetime) -> dict[str, str]:
    """By code, why no due job of the biz type goes out now; biz types whose jobs do are left out."""
    found: dict[str, str] = {}
    lanes: dict[str, list[BizType]] = defaultdict(list)
    for biz_type in biz_types:
        if biz_type.is_shut(now=now):
            found[biz_type.code] = _why_shut(biz_type)
        else:
            lanes[biz_type.lane].append(biz_type)
    for lane, group in lanes.items():
        breakers = _breakers(lane, group)
        for biz_type in group:
            if breakers is None:
                found[biz_type.code] = "Redis does not answer; workers go on once it does"
            elif (breaker := breakers.get(biz_type.code)) and breaker.open_until_ms is not None:
                found[biz_type.code] = _why_broken(biz_type, breaker.open_until_ms, now_ms=due_ms(now))
    return found


def _why_shut(biz_type: BizType) -> str:
    if not biz_type.enabled:
        return f"{biz_type.code} is disabled"
    ends = biz_type.paused_until
    if ends is None or ends >= UNTIL_RESUMED:
        return f"{biz_type.code} is paused until somebody resumes it"
    return f"{biz_type.code} is paused until {timezone.localtime(ends):%Y-%m-%d %H:%M:%S %Z}"


def _why_broken(biz_type: BizType, open_until_ms: int, *, now_ms: int) -> str:
    wait = ceil((open_until_ms - now_ms) / 1000)
    when = f"the next try is in {wait} s" if wait > 0 else "one job at a time tries it"
    return f"the receiver of {biz_type.code} is down (its breaker is open), {when}"


def _breakers(lane: str, biz_types: Sequence[BizType]) -> dict[str, Breaker] | None:
    """The breakers that are open or were lately; None where Redis does not answer."""

    def ask() -> dict[str, Breaker]:
        connected = brisk_lane(lane)
        connected.client.ping()  # the question about breakers has no answer of its own for a Redis that is away
        return read_breakers(connected, biz_types)

    return tried(ask, action="look")
