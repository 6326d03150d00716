"""When a crontab of Celery's occurs, reckoned in UTC."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

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
