"""Cron: the moments that a cron expression names in a time zone, forwards and backwards.

Where clocks change, an expression with a fixed minute and hour runs once, and one with ``*`` in the minute or the hour
whenever clocks show its times: see :mod:`delayhub.wall_clock`.

With six fields the first is that of the seconds. They are added to the moments of the other five, since the library
leaves out and doubles moments of six fields where clocks change.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from django.utils.translation import gettext as _

from delayhub.wall_clock import moments
from tasksapp.errors import InvalidSeries

#: An expression has so many characters at most.
LONGEST = 200
_SECOND = timedelta(seconds=1)


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
        for minute in moments(self._wall_times, moment, zone=self.zone, fixed=self.is_fixed, sign=sign):
            for second in seconds:
                found = minute + second * _SECOND
                if (found - moment) * sign > timedelta(0):
                    yield found

    def _wall_times(self, begin: datetime, *, sign: int) -> Iterator[datetime]:
        walk = copy(_parsed(self.minutes))
        walk.dt, walk.tick_direction = begin, sign
        yield from walk


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
