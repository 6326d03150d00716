"""Times that clocks on the wall show, as moments in order, also where clocks leave some out or show some twice.

* *Fixed* times run once: one that a change of clocks leaves out runs at the first moment after it, and one that comes
  twice runs the first time.
* Others run whenever the clock shows them: never in what is left out, and twice in what comes twice.

It is what cron of Debian does.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from heapq import heappop, heappush
from typing import Protocol

#: Clocks are put forward or back by less than this, in all zones since 1970.
MOST_CHANGE = timedelta(days=1, hours=2)
_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)


class WallTimes(Protocol):
    """The times, to the minute, that some expression names on the wall clock."""

    def __call__(self, begin: datetime, *, sign: int) -> Iterator[datetime]:
        """Those from ``begin``, which has no time zone, on: upwards where the sign is 1, downwards where it is -1."""


def moments(wall_times: WallTimes, moment: datetime, *, zone: tzinfo, fixed: bool, sign: int = 1) -> Iterator[datetime]:
    """The moments of those times, in UTC, each once: upwards, or downwards where the sign is -1.

    They begin in the minute of ``moment`` or a little before it. What comes twice is put into its place: the second
    show of one time may come after the first of another, and where they cross an hour or a day does not matter.
    """
    waiting: list[tuple[timedelta, datetime]] = []
    last: datetime | None = None
    for wall in wall_times(_begin(moment, zone, sign=sign), sign=sign):
        shown = [((each - moment) * sign, each) for each in _moments_of(wall, zone, fixed=fixed)]
        for each in shown:
            heappush(waiting, each)
        # No later time of the wall clock has a moment before the first one of this.
        while shown and waiting and waiting[0] <= min(shown):
            at = heappop(waiting)[1]
            if at != last:
                last = at
                yield at
    while waiting:
        at = heappop(waiting)[1]
        if at != last:
            last = at
            yield at


def _begin(moment: datetime, zone: tzinfo, *, sign: int) -> datetime:
    """Where the walk over the wall clock begins so that it meets every time which has a moment from there on.

    Where clocks are put back within the time by which they are put back, what they showed just now comes again.
    """
    here, ahead = _offset(moment, zone), _offset(moment + sign * MOST_CHANGE, zone)
    soon = _offset(moment + sign * abs(ahead - here), zone)
    wall = moment.astimezone(UTC).replace(tzinfo=None) + (min(here, soon) if sign > 0 else max(here, soon))
    return wall.replace(second=0, microsecond=0) - sign * _MINUTE


def _moments_of(wall: datetime, zone: tzinfo, *, fixed: bool) -> list[datetime]:
    begin, again = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if begin == again:
        return [begin]
    if again > begin:  # it comes twice
        return [begin] if fixed else [begin, again]
    # It is left out. Read by the old offset it lies after the change, by the new one before it.
    return [_change(after=again, before=begin, zone=zone)] if fixed else []


def _change(*, after: datetime, before: datetime, zone: tzinfo) -> datetime:
    """The moment of the change of clocks between the two."""
    old = _offset(after, zone)
    while before - after > _SECOND:
        middle = (after + (before - after) / 2).replace(microsecond=0)
        if _offset(middle, zone) == old:
            after = middle
        else:
            before = middle
    return before


def _offset(moment: datetime, zone: tzinfo) -> timedelta:
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None, "astimezone gives a time with an offset"
    return offset
