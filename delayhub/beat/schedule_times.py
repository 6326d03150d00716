"""When the schedules of Celery occur, in Unix ms; nothing is reckoned in local time but what is written in it."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from datetime import datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

from celery import schedules

from delayhub.beat.left_out import Never
from delayhub.clock import due_ms, moment
from delayhub.wall_clock import moments

#: How far ahead is looked: 29 February may be eight years away.
MOST_DAYS = 366 * 9


class CrontabTimes(NamedTuple):
    """The times of a crontab of Celery's.

    One that has a ``*`` in its minute or hour runs whenever clocks show its times; any other is fixed, see
    :mod:`delayhub.wall_clock`.
    """

    months: frozenset[int]
    days: frozenset[int]
    weekdays: frozenset[int]
    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    is_fixed: bool
    zone: tzinfo

    @classmethod
    def of(cls, crontab: Any) -> CrontabTimes:
        """The times of ``celery.schedules.crontab``, or of a subclass with a time zone of its own."""
        return cls(
            frozenset(crontab.month_of_year),
            frozenset(crontab.day_of_month),
            frozenset(crontab.day_of_week),
            tuple(sorted(crontab.hour)),
            tuple(sorted(crontab.minute)),
            not any("*" in str(field) for field in (crontab._orig_minute, crontab._orig_hour)),
            crontab.tz,
        )

    def next_ms(self, after_ms: int) -> int | None:
        """The first occurrence after that time, in Unix ms; None where there is none within nine years."""
        found = moments(self._wall_times, moment(after_ms), zone=self.zone, fixed=self.is_fixed)
        return next((at for at in map(due_ms, found) if at > after_ms), None)

    def _wall_times(self, begin: datetime, *, sign: int) -> Iterator[datetime]:
        assert sign == 1, "occurrences are looked for upwards only"
        for number in range(MOST_DAYS):
            day = begin.date() + timedelta(days=number)
            fits = day.month in self.months and day.day in self.days
            if not fits or day.isoweekday() % 7 not in self.weekdays:
                continue
            for hour in self.hours:
                if number == 0 and hour < begin.hour:
                    continue
                for minute in self.minutes:
                    wall = datetime.combine(day, time(hour, minute))
                    if wall >= begin:
                        yield wall


#: Stretches of time, in ms, in which missed occurrences are looked for, from now backwards.
STRETCHES = (100_000, 3_600_000, 86_400_000, 35 * 86_400_000, 366 * 86_400_000)


def next_ms(schedule: Any, after_ms: int, *, anchor_ms: int, zone: tzinfo) -> int | None:
    """The first occurrence after that time; None where nothing follows.

    Args:
        schedule: a schedule of Celery's or of django-celery-beat's, or one of a project's own.
        after_ms: Unix ms.
        anchor_ms: where intervals are counted from.
        zone: the app's time zone, which ``relative`` intervals are rounded in.
    """
    if isinstance(schedule, Never):
        return None
    clocked_time = getattr(schedule, "clocked_time", None)
    if isinstance(clocked_time, datetime):
        at = due_ms(clocked_time)
        return at if at > after_ms else None
    if isinstance(schedule, schedules.crontab):
        return CrontabTimes.of(schedule).next_ms(after_ms)
    if type(schedule) is schedules.schedule:
        if not schedule.relative:
            return next_of_interval(interval_ms(schedule), after_ms, anchor_ms=anchor_ms)
        return max(after_ms + 1, due_ms(_next_rounded(_length(schedule), moment(after_ms), zone=zone)))
    return _next_of_unknown(schedule, after_ms)


def interval_ms(schedule: Any) -> int:
    """The length of an interval, a ms at least."""
    return max(1, _ms(schedule.run_every))


def next_of_interval(length_ms: int, after_ms: int, *, anchor_ms: int) -> int:
    """The first of the times ``anchor + n · length`` after a time."""
    return anchor_ms + ((after_ms - anchor_ms) // length_ms + 1) * length_ms


def missed_ms(schedule: Any, since_ms: int, now_ms: int, *, anchor_ms: int, zone: tzinfo, most: int) -> list[int]:
    """The last ``most`` occurrences from ``since_ms``, which is one, to now."""
    found: deque[int] = deque(maxlen=most)
    for stretch in STRETCHES:
        start = max(since_ms, now_ms - stretch)
        found.clear()
        at = start if start == since_ms else next_ms(schedule, start, anchor_ms=anchor_ms, zone=zone)
        while at is not None and at <= now_ms:
            found.append(at)
            at = next_ms(schedule, at, anchor_ms=anchor_ms, zone=zone)
        if start == since_ms or len(found) == most:
            break
    return list(found) or [since_ms]


def _next_of_unknown(schedule: Any, after_ms: int) -> int:
    """Asks the schedule itself, at that very time: solar ones, and those of a project's own."""
    frozen, last = copy.copy(schedule), moment(after_ms)
    frozen.nowfun = lambda: last
    seconds = float(frozen.is_due(last).next)
    return after_ms + max(1, round(seconds * 1000))


def _next_rounded(length: timedelta, after: datetime, *, zone: tzinfo) -> datetime:
    """The next time of a ``relative`` interval: down to the day, hour, minute or second of the clock on the wall.

    Celery's own function, before 5.7, takes an hour that comes twice for one.
    """
    if length >= timedelta(days=1):
        day = after.astimezone(zone).replace(tzinfo=None) + length
        return datetime.combine(day, time(), tzinfo=zone)
    end = after + length
    wall = end.astimezone(zone)
    past = timedelta(microseconds=wall.microsecond)
    if length >= timedelta(minutes=1):
        past += timedelta(seconds=wall.second)
    if length >= timedelta(hours=1):
        past += timedelta(minutes=wall.minute)
    return end - past if past < length else end


def _length(schedule: Any) -> timedelta:
    length: timedelta = schedule.run_every
    return length


def _ms(length: timedelta) -> int:
    return round(length.total_seconds() * 1000)
