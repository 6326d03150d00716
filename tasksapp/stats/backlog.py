"""Backlog: how the jobs that wait come and go, when so many arrive and so many a second are done.

Jobs are taken as a liquid: those of a stretch arrive evenly between the first and the last of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from tasksapp.stats.upcoming import Arrivals

#: A queue of less than that is empty: sums of floats are never exactly 0.
_NOTHING = 1e-6


class Pace(NamedTuple):
    """How many jobs a second are done from a moment on."""

    since: datetime
    per_second: float


class Busy(NamedTuple):
    """A time in which jobs wait for those before them.

    Args:
        begins: when the first of them arrives.
        ends: when the last of them is done; None where that is beyond what was looked at.
        jobs: how many there are.
        wait_seconds: the longest that one of them waits.
    """

    begins: datetime
    ends: datetime | None
    jobs: float
    wait_seconds: float


def busy_times(
    *, start: datetime, waiting: float, arrivals: Iterable[Arrivals], paces: Sequence[Pace], until: datetime
) -> list[Busy]:
    """The times in which jobs wait, from ``start`` on.

    Args:
        start: now.
        waiting: jobs that wait already.
        arrivals: the jobs that come after ``start``.
        paces: how fast jobs are done, in the order of their times; the first holds at ``start``.
        until: nothing later is looked at.
    """
    jumps: dict[datetime, float] = defaultdict(float)
    slopes: dict[datetime, float] = defaultdict(float)
    for came, first, last in (_clipped(each, start) for each in arrivals):
        if last <= first:
            jumps[first] += came
        else:
            slopes[first] += came / (last - first).total_seconds()
            slopes[last] -= came / (last - first).total_seconds()
    speeds = {max(pace.since, start): pace.per_second for pace in paces}
    moments = sorted({start, *jumps, *slopes, *speeds})
    found: list[Busy] = []
    queue, rate, speed = waiting, 0.0, 0.0
    begins: datetime | None = start if waiting > _NOTHING else None
    jobs: float = waiting
    longest = 0.0
    for now, following in zip(moments, [*moments[1:], until], strict=True):
        if now >= until:
            break
        queue += jumps.get(now, 0.0)
        rate = max(0.0, rate + slopes.get(now, 0.0))
        speed = speeds.get(now, speed)
        if begins is None and (queue > _NOTHING or rate > speed * (1 + _NOTHING)):
            begins, jobs, longest = now, 0.0, 0.0
        if begins is None:
            continue
        jobs += jumps.get(now, 0.0)
        seconds = (min(following, until) - now).total_seconds()
        longest = max(longest, _wait(queue, speed))
        if rate < speed and queue / (speed - rate) <= seconds:
            spent = queue / (speed - rate)
            found.append(Busy(begins, now + timedelta(seconds=spent), jobs + rate * spent, longest))
            begins, queue = None, 0.0
            continue
        queue, jobs = queue + (rate - speed) * seconds, jobs + rate * seconds
        longest = max(longest, _wait(queue, speed))
    if begins is not None:
        found.append(Busy(begins, None, jobs, longest))
    return found


def _clipped(arrivals: Arrivals, start: datetime) -> Arrivals:
    """Those of them that come after ``start``."""
    jobs, first, last = arrivals
    if first >= start:
        return arrivals
    if last <= start:
        return Arrivals(0, start, start)
    return Arrivals(round(jobs * ((last - start) / (last - first))), start, last)


def _wait(queue: float, speed: float) -> float:
    return queue / speed if speed > 0 else 0.0
