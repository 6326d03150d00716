"""When a crontab occurs, reckoned in UTC, with a rule for the hours that clocks leave out or repeat."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

from delayhub.clock import due_ms, moment

#: How far ahead is looked: 29 February may be eight years away.
MOST_DAYS = 366 * 9


class CrontabTimes(NamedTuple):
    """The times of a crontab of Celery's.

    A crontab whose minute or hour begins with ``*`` counts real time: it has no occurrence in an hour that clocks leave
    out, and occurs in both passes of one that comes twice. Any other names times of day: one that clocks leave out
    occurs when they go on, and one that comes twice occurs at the first. It is what cron of Debian does.
    """

    months: frozenset[int]
    days: frozenset[int]
    weekdays: frozenset[int]
    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    counts_real_time: bool
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
            any(str(field).startswith("*") for field in (crontab._orig_minute, crontab._orig_hour)),
            crontab.tz,
        )

    def next_ms(self, after_ms: int) -> int | None:
        """The first occurrence after that time, in Unix ms; None where there is none within nine years."""
        # A day before, since a local day may begin later than the one in UTC, and an hour may come again.
        local = moment(after_ms).astimezone(self.zone)
        earliest = local.replace(tzinfo=None) - timedelta(hours=3)
        for day in self._days(earliest.date()):
            for hour in self.hours:
                if (day, hour) < (earliest.date(), earliest.hour):
                    continue
                found = [at for minute in self.minutes for at in self._moments(day, hour, minute) if at > after_ms]
                if found:
                    return min(found)
        return None

    def _days(self, first: date) -> Iterator[date]:
        for number in range(MOST_DAYS):
            day = first + timedelta(days=number)
            fits = day.month in self.months and day.day in self.days
            if fits and day.isoweekday() % 7 in self.weekdays:
                yield day

    def _moments(self, day: date, hour: int, minute: int) -> Iterator[int]:
        naive = datetime.combine(day, time(hour, minute))
        first, second = (naive.replace(tzinfo=self.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if first.astimezone(self.zone).replace(tzinfo=None) == naive:
            yield due_ms(first)
            if self.counts_real_time and second > first:
                yield due_ms(second)
        elif not self.counts_real_time:
            yield end_of_gap(second, first, self.zone)


def end_of_gap(before: datetime, after: datetime, zone: tzinfo) -> int:
    """When clocks go on, in Unix ms: between two moments around a gap, found to the minute."""
    low, high = due_ms(before) // 60_000, due_ms(after) // 60_000
    offset = moment(low * 60_000).astimezone(zone).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        if moment(middle * 60_000).astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return high * 60_000
