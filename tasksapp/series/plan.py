"""Which occurrences of a series are to be made now.

They are made by count and time: the next one, and those that are due within a minute. Made by the near window, a series
that runs each second would have 3 600 rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import NamedTuple

from tasksapp.models import Series
from tasksapp.models.series import MISSED
from tasksapp.series.schedule import Schedule, jitter_of, schedule

#: Beside the next occurrence, those are made that are due so soon.
AHEAD = timedelta(seconds=60)
#: More are made when those that are made last for so long only.
REFILL = timedelta(seconds=30)
#: In one turn a series gets so many at most; of those that were missed it gets so many at most.
MOST, MOST_MISSED = 100, 1_000
#: How soon a series is looked at again that got as many as one turn makes.
AGAIN = timedelta(milliseconds=500)
#: How soon a series is looked at again whose schedule cannot be reckoned, or whose tenant gets no more jobs for now.
INVALID_WAIT = timedelta(seconds=10)
#: The smallest step of time that databases keep.
_TICK = timedelta(microseconds=1)


class Occurrence(NamedTuple):
    """One time that a series runs: when it stands in the schedule, and when its job is due."""

    at: datetime
    due_at: datetime


class Plan(NamedTuple):
    """What is made of a series now.

    Args:
        occurrences: those that get a job.
        next_occurrence_at: the first after them; None where the series has ended.
        make_at: when there is more to make; None for never.
    """

    occurrences: list[Occurrence]
    next_occurrence_at: datetime | None
    make_at: datetime | None


def schedule_of(series: Series) -> Schedule:
    """When the series runs. Raises InvalidSeries, such as for a time zone that is no more."""
    return schedule(
        cron_expression=series.cron,
        time_zone=series.time_zone,
        every=series.every,
        anchor=series.anchor,
        times=series.times,
        starts_at=series.starts_at,
        ends_at=series.ends_at,
    )


class Outage(NamedTuple):
    """A time without workers that has ended, as a series sees it.

    Args:
        since: occurrences that were due from then on were made late by it.
        drops_before: of those, the ones before that moment are not run any more: a later one takes their place, or
            none. None: all are run.
    """

    since: datetime
    drops_before: datetime | None


def outage(series: Series, *, now: datetime) -> Outage | None:
    """The outage that has ended for a series whose time to be looked at has come. Raises InvalidSeries.

    What it drops no longer counts when :func:`plan` is asked.
    """
    look_at, first = series.make_at, series.next_occurrence_at
    # Those that were due before had a worker, and are late since their biz type was paused or has a limit. A series
    # that was looked at all the while, and whose tenant got no more jobs, has none of later: they were not made.
    if seen_late := look_at is not None and look_at < now - MISSED:
        since = look_at - AHEAD
    elif first is not None and first < now - MISSED:
        since = first
    else:
        return None
    match series.catch_up:
        case Series.CatchUp.NONE:
            return Outage(since, now)
        case Series.CatchUp.LATEST:
            return Outage(since, next(schedule_of(series).before(now + _TICK), None) if first else None)
        case _:
            return Outage(since, None) if seen_late else None


def plan(series: Series, *, now: datetime, most: int = MOST) -> Plan:
    """What is to be made of a series whose time to be looked at has come. Raises InvalidSeries."""
    # Where the last ones of a count were dropped, there are more.
    first = series.next_occurrence_at
    if first is None and series.count is not None:
        first = first_occurrence(series, after=now)
    if first is None:
        return Plan([], None, None)
    when = schedule_of(series)
    room = most if series.count is None else min(most, series.count - series.made)
    late = _missed(series, when, first=first, now=now)
    if first >= now - MISSED:
        coming = chain((first,), when.after(first))
        made = [Occurrence(at, at + jitter_of(series.pk, at, jitter=series.jitter)) for at in _soon(coming, now, room)]
    else:
        # Those that were missed are due now, so that no rule about lateness ends them.
        made = [Occurrence(at, now) for at in late[:room]]
        if len(late) <= room:
            soon = _soon(when.after(now), now, room - len(late))
            made += [Occurrence(at, at + jitter_of(series.pk, at, jitter=series.jitter)) for at in soon]
    last = made[-1] if made else Occurrence(now, now)
    is_counted_out = series.count is not None and series.made + len(made) >= series.count
    following = None if is_counted_out else when.next(last.at)
    return Plan(made, following, _make_at(last.due_at if made else None, following, now=now))


def first_occurrence(series: Series, *, after: datetime) -> datetime | None:
    """The first occurrence that the series makes after that moment; None where its count is used up or there is none.

    Raises InvalidSeries.
    """
    if series.count is not None and series.made >= series.count:
        return None
    return schedule_of(series).next(after)


def _soon(coming: Iterator[datetime], now: datetime, room: int) -> Iterator[datetime]:
    """Those that are due soon, and the next one if that is later."""
    last = now
    for at in islice(coming, max(room, 0)):
        if at > now + AHEAD and last > now:
            return
        last = at
        yield at


def _missed(series: Series, when: Schedule, *, first: datetime, now: datetime) -> list[datetime]:
    """Those that were missed and are run all the same, in order. They are found backwards: there may be millions."""
    if first >= now - MISSED:
        return []
    most = {Series.CatchUp.NONE: 0, Series.CatchUp.LATEST: 1}.get(Series.CatchUp(series.catch_up), MOST_MISSED)
    found = []
    for at in islice(when.before(now + _TICK), most):
        if at < first:
            break
        found.append(at)
    return found[::-1]


def _make_at(last_due_at: datetime | None, following: datetime | None, *, now: datetime) -> datetime | None:
    """When the series is looked at again: by then a worker has been there for the last one, or there was an outage."""
    if following is None:
        return last_due_at
    # Where there is more to make at once, the others come first.
    return max(now + AGAIN if following <= now else now, min(last_due_at or now, following - REFILL))
