"""Backlog: how the jobs that wait come and go, when so many arrive and so many a second are done.

Jobs are taken as a liquid: those of a stretch arrive evenly between the first and the last of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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


class _Point(NamedTuple):
    """How many jobs of a busy time have arrived, and how many are done, at a moment."""

    at: datetime
    arrived: float
    done: float

    @classmethod
    def of(cls, at: datetime, arrived: float, queue: float) -> _Point:
        """Rounded, so that a stretch in which nothing happens is level."""
        return cls(at, round(arrived, 6), round(arrived - queue, 6))


class Busy(NamedTuple):
    """A time in which jobs wait for those before them.

    Args:
        begins: when the first of them arrives.
        ends: when the last of them is done; None where that is beyond what was looked at.
        jobs: how many there are.
        wait_seconds: the longest that one of them waits; where ``ends`` is None, of those that are done until then.
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
    jobs = waiting
    points = [_Point(start, 0.0, 0.0)] if waiting > _NOTHING else []
    for now, following in zip(moments, [*moments[1:], until], strict=True):
        if now >= until:
            break
        queue += jumps.get(now, 0.0)
        rate = max(0.0, rate + slopes.get(now, 0.0))
        speed = speeds.get(now, speed)
        if not points and (queue > _NOTHING or rate > speed * (1 + _NOTHING)):
            jobs, points = 0.0, [_Point(now, 0.0, 0.0)]
        if not points:
            continue
        jobs += jumps.get(now, 0.0)
        points.append(_Point.of(now, jobs, queue))
        seconds = (min(following, until) - now).total_seconds()
        if rate < speed and queue / (speed - rate) <= seconds:
            spent = queue / (speed - rate)
            jobs += rate * spent
            points.append(_Point.of(now + timedelta(seconds=spent), jobs, 0.0))
            found.append(Busy(points[0].at, points[-1].at, jobs, _longest_wait(points)))
            points, queue = [], 0.0
            continue
        queue, jobs = queue + (rate - speed) * seconds, jobs + rate * seconds
    if points:
        points.append(_Point.of(until, jobs, queue))
        found.append(Busy(points[0].at, None, jobs, _longest_wait(points)))
    return found


def _clipped(arrivals: Arrivals, start: datetime) -> Arrivals:
    """Those of them that come after ``start``."""
    jobs, first, last = arrivals
    if first >= start:
        return arrivals
    if last <= start:
        return Arrivals(0, start, start)
    return Arrivals(round(jobs * ((last - start) / (last - first))), start, last)


def _longest_wait(points: Sequence[_Point]) -> float:
    """The longest between a job's arrival and its end, in seconds: it begins or ends where one of the lines bends."""
    moments = [point.at for point in points]
    arrived, done = [point.arrived for point in points], [point.done for point in points]
    last_done = done[-1]
    longest = 0.0
    for job in {count for count in (*arrived, *done) if count <= last_done}:
        if job > 0:  # the job that makes up this count
            longest = max(longest, (_first(moments, done, job) - _first(moments, arrived, job)).total_seconds())
        if job < last_done:  # the one after it
            longest = max(longest, (_last(moments, done, job) - _last(moments, arrived, job)).total_seconds())
    return longest


def _first(moments: Sequence[datetime], counts: Sequence[float], count: float) -> datetime:
    """When a line that rises through ``counts`` at ``moments`` has reached ``count``."""
    after = bisect_left(counts, count)
    return moments[0] if after == 0 else _between(moments, counts, after, count)


def _last(moments: Sequence[datetime], counts: Sequence[float], count: float) -> datetime:
    """When it is about to leave ``count``."""
    after = bisect_right(counts, count)
    return moments[-1] if after == len(counts) else _between(moments, counts, after, count)


def _between(moments: Sequence[datetime], counts: Sequence[float], after: int, count: float) -> datetime:
    share = (count - counts[after - 1]) / (counts[after] - counts[after - 1])
    return moments[after - 1] + share * (moments[after] - moments[after - 1])
