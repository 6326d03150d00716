"""Cron: the moments that a cron expression names in a time zone, forwards and backwards.

The expression is walked on the wall clock, and each of its times is looked up in the time zone. Where clocks change:

* An expression with a fixed minute and hour runs once: a time that the change leaves out runs at the first moment
  after it, and one that comes twice runs the first time.
* One with ``*`` in the minute or the hour runs at each time that the clock shows: none in what is left out, and twice
  in what comes twice.

With six fields the first is that of the seconds. They are added to the moments of the other five, since the library
leaves out and doubles moments of six fields where clocks change.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from heapq import heappop, heappush
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from django.utils.translation import gettext as _

from tasksapp.errors import InvalidSeries

#: An expression has so many characters at most.
LONGEST = 200
#: Clocks are changed by less than this; where they are changed within it, the walk begins so much earlier.
NEAR_CHANGE = timedelta(days=1, hours=2)
_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)


class Cron(NamedTuple):
    """A checked expression in a time zone; :func:`cron` makes one.

    Args:
        minutes: the five fields.
        seconds: of each minute that they name, in order.
        zone: the time zone.
    """

    minutes: str
    seconds: tuple[int, ...]
    zone: tzinfo

    def after(self, moment: datetime) -> Iterator[datetime]:
        """The moments after that one, in order, in UTC."""
        return self._walk(moment, backwards=False)

    def before(self, moment: datetime) -> Iterator[datetime]:
        """The moments before that one, the last first, in UTC."""
        return self._walk(moment, backwards=True)

    @property
    def is_fixed(self) -> bool:
        """Whether minute and hour are fixed, so that it runs once where clocks change."""
        minute, hour, *_ = self.minutes.split()
        return "*" not in minute + hour

    def _walk(self, moment: datetime, *, backwards: bool) -> Iterator[datetime]:
        """The moments on one side of that one, each once, and in order from it."""
        sign = -1 if backwards else 1
        seconds = self.seconds[::sign]
        for minute in self._minutes(moment, sign=sign):
            for second in seconds:
                found = minute + second * _SECOND
                if (found - moment) * sign > timedelta(0):
                    yield found

    def _minutes(self, moment: datetime, *, sign: int) -> Iterator[datetime]:
        """The minutes that the expression names, from a little before that moment on, each once and in order."""
        # A minute may be named by times of both halves of a change, so those that come twice wait for their place.
        waiting: list[tuple[timedelta, datetime]] = []
        last: datetime | None = None
        for wall in self._walls(moment, sign=sign):
            found = self._moments(wall)
            if found:
                first = min((each - moment) * sign for each in found)
                while waiting and waiting[0][0] < first:
                    at = heappop(waiting)[1]
                    if at != last:
                        last = at
                        yield at
            for each in found:
                heappush(waiting, ((each - moment) * sign, each))
        while waiting:
            at = heappop(waiting)[1]
            if at != last:
                last = at
                yield at

    def _walls(self, moment: datetime, *, sign: int) -> Iterator[datetime]:
        """The wall-clock times that the expression names, from a little before that moment on."""
        begin = moment.astimezone(self.zone).replace(tzinfo=None, second=0, microsecond=0) - sign * _MINUTE
        if self._is_near_change(moment):
            begin -= sign * NEAR_CHANGE
        walk = copy(_parsed(self.minutes))
        walk.dt, walk.tick_direction = begin, sign
        yield from walk

    def _is_near_change(self, moment: datetime) -> bool:
        offsets = {
            (moment + step).astimezone(self.zone).utcoffset() for step in (-NEAR_CHANGE, timedelta(0), NEAR_CHANGE)
        }
        return len(offsets) > 1

    def _moments(self, wall: datetime) -> list[datetime]:
        """The moments at which clocks show that time and the expression runs, in UTC."""
        first, second = wall.replace(tzinfo=self.zone), wall.replace(tzinfo=self.zone, fold=1)
        begin, again = first.astimezone(UTC), second.astimezone(UTC)
        if begin == again:
            return [begin]
        if again > begin:  # it comes twice
            return [begin] if self.is_fixed else [begin, again]
        # It is left out. Read by the old offset it lies after the change, by the new one before it.
        return [self._change(after=again, before=begin)] if self.is_fixed else []

    def _change(self, *, after: datetime, before: datetime) -> datetime:
        """The moment of the change of clocks between the two."""
        old = after.astimezone(self.zone).utcoffset()
        while before - after > _SECOND:
            middle = after + (before - after) / 2
            middle = middle.replace(microsecond=0)
            if middle.astimezone(self.zone).utcoffset() == old:
                after = middle
            else:
                before = middle
        return before


@lru_cache(maxsize=4096)
def _parsed(minutes: str) -> CronSim:
    """The five fields as the library reads them, which takes it longer than to walk to the next time."""
    # Without a time zone the library has no rules of its own for changes of clocks.
    return CronSim(minutes, datetime(2000, 1, 1))  # noqa: DTZ001  times of the wall clock have none


@lru_cache(maxsize=4096)
def cron(expression: str, *, time_zone: str = "UTC") -> Cron:
    """The expression in that time zone, checked.

    Raises InvalidSeries where either cannot be, or the expression never runs.
    """
    zone = zone_of(time_zone)
    if len(expression) > LONGEST:
        text = _("cron may have %(most)s characters at most, got %(given)s")
        raise InvalidSeries("cron", "too_long", text % {"most": LONGEST, "given": len(expression)})
    fields = expression.split()
    if len(fields) not in (5, 6):
        text = _("cron must have five or six fields, got %(given)s") % {"given": repr(expression)}
        raise InvalidSeries("cron", "fields", text)
    try:
        checked = _parsed(expression)
        next(copy(checked))
    except (CronSimError, AssertionError) as error:
        text = _("cron %(given)s cannot be read: %(error)s") % {"given": repr(expression), "error": error}
        raise InvalidSeries("cron", "invalid", text) from error
    except StopIteration:
        text = _("cron %(given)s names no time in the next 50 years") % {"given": repr(expression)}
        raise InvalidSeries("cron", "never", text) from None
    seconds = tuple(sorted(checked.seconds)) if len(fields) == 6 else (0,)
    return Cron(" ".join(fields[-5:]), seconds, zone)


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def zone_of(name: str) -> ZoneInfo:
    """The time zone of that name. Raises InvalidSeries."""
    if name not in _zones():
        text = _("time_zone must be a name such as Asia/Shanghai, got %(given)s") % {"given": repr(name)}
        raise InvalidSeries("time_zone", "unknown", text)
    return ZoneInfo(name)
