"""Beat and series beside an oracle that walks over the minutes of UTC and looks at the clock in each zone.

``make calendars`` takes every zone of tzdata from 1990 to 2037, which is many minutes; with ``PARTS=8``, as the night
does, every eighth zone, so that eight days in a row take all. The suite takes a few changes of clocks, most of them
unlike those of Berlin.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise, takewhile
from zoneinfo import ZoneInfo, available_timezones

import pytest
from celery import Celery
from celery.schedules import crontab

from delayhub.beat.schedule_times import CrontabTimes
from delayhub.clock import SystemClock, due_ms, moment
from tasksapp.series.cron import cron
from tests.wall_clock_oracle import MINUTE, Named, expected, walk

#: Into how many parts the zones are divided, of which each day has its own; 0: only those that are known.
PARTS = int(os.environ.get("DELAYHUB_CALENDARS", "0"))
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

#: Those that run whenever the clock shows them, and those that run once.
EXPRESSIONS = (
    *("* * * * *", "*/7 * * * *", "30 * * * *", "*/30 2 * * *", "15 */2 * * *", "*/20 0-3 * * 0", "*/5 * 1 * *"),
    *("30 2 * * *", "0 0 * * *", "0,45 0,1,2,3 * * *", "45 23 * * *", "15,30 2,3 * * 0", "5 1-4 * 3,4,10,11 *"),
)
#: Zones and years in which what comes twice crosses an hour or a day, or is three hours long, or a day is left out.
KNOWN = [
    *(("Pacific/Chatham", 2026), ("Antarctica/Troll", 2026), ("America/St_Johns", 2010), ("Australia/Lord_Howe", 2026)),
    *(("Europe/Berlin", 2026), ("Asia/Beirut", 2026), ("Pacific/Apia", 2011), ("Antarctica/Casey", 2010)),
]
YEARS = range(1990, 2038)


@cache
def changes(zone: str, years: range) -> list[datetime]:
    """The moments at which the clock in that zone is changed, found by a look each six hours, then each minute."""
    tz, found = ZoneInfo(zone), []
    at, end = datetime(years.start, 1, 1, tzinfo=UTC), datetime(years.stop, 1, 1, tzinfo=UTC)
    offset = at.astimezone(tz).utcoffset()
    while at < end:
        later = (at + 6 * HOUR).astimezone(tz).utcoffset()
        for minute in (at + step * MINUTE for step in range(1, 361) if later != offset):
            if minute.astimezone(tz).utcoffset() != offset:
                found.append(minute)
                offset = minute.astimezone(tz).utcoffset()
        at += 6 * HOUR
    return found


def around(changes: Sequence[datetime]) -> list[tuple[datetime, datetime]]:
    """Some hours around each change."""
    return [(at - 4 * HOUR, at + 8 * HOUR) for at in changes]


def between(changes: Sequence[datetime]) -> list[tuple[datetime, datetime]]:
    """Half a day in the middle between each two changes."""
    middles = (before + (after - before) / 2 for before, after in pairwise(changes))
    return [(at, at + 12 * HOUR) for at in (middle.replace(second=0, microsecond=0) for middle in middles)]


@cache
def beat_times(expression: str, zone: str) -> CrontabTimes:
    app = Celery("shop", set_as_current=False)
    app.conf.timezone = zone
    minute, hour, day, month, weekday = expression.split()
    times = CrontabTimes.of(
        crontab(minute, hour, day_of_month=day, month_of_year=month, day_of_week=weekday, app=app),
    )
    app.close()
    return times


def beat_runs(expression: str, zone: str, begin: datetime, end: datetime) -> list[datetime]:
    times, found = beat_times(expression, zone), []
    at = times.next_ms(due_ms(begin) - 1)
    while at is not None and moment(at) < end:
        found.append(moment(at))
        at = times.next_ms(at)
    return found


def faults(zone: str, begin: datetime, end: datetime) -> Iterator[str]:
    """How beat and series differ from the oracle in that stretch."""
    minutes = walk(zone, begin, end)
    for expression in EXPRESSIONS:
        must = expected(Named(expression), minutes)
        series = cron(expression, time_zone=zone)
        got = {
            "beat": beat_runs(expression, zone, begin, end),
            "series upwards": list(takewhile(lambda at: at < end, series.after(begin - MINUTE / 2))),
            "series downwards": list(takewhile(lambda at: at >= begin, series.before(end)))[::-1],
        }
        yield from (
            f"{zone} {expression!r} {who}, {begin:%Y-%m-%d %H:%M} UTC: {sorted(set(must) ^ set(runs))[:3]}"
            for who, runs in got.items()
            if runs != must
        )
        # From any moment on, not only where a walk came from one before the change.
        for start in (begin + step * 50 * MINUTE for step in range((end - begin) // (50 * MINUTE))):
            ahead, behind = next(series.after(start), None), next(series.before(start), None)
            first, last = (
                next((at for at in must if at > start), None),
                next((at for at in must[::-1] if at < start), None),
            )
            if (first and ahead != first) or (last and behind != last):
                yield f"{zone} {expression!r} series from {start}: {ahead} and {behind}, must be {first} and {last}"


def shape(zone: str, begin: datetime, end: datetime) -> tuple[object, ...]:
    """What the clock in the zone shows near a stretch: another zone of the same shape need not be tried again."""
    tz = ZoneInfo(zone)
    edges = [begin - 3 * DAY, *(at for at in changes(zone, YEARS) if begin - 3 * DAY < at < end + 3 * DAY)]
    return (begin, *((at, at.astimezone(tz).utcoffset()) for at in edges))


def part_of_the_day(zones: Sequence[str]) -> Sequence[str]:
    """The zones of today's part: neighbours are in different ones, since they are often alike."""
    today = moment(SystemClock().now_ms()).toordinal()
    return zones[today % PARTS :: PARTS]


@pytest.mark.parametrize(("zone", "year"), KNOWN)
def test_beat_and_series_run_at_each_time_that_clocks_show(zone: str, year: int) -> None:
    around_changes = around(changes(zone, range(year, year + 1)))

    found = [fault for begin, end in around_changes for fault in faults(zone, begin, end)]

    assert around_changes
    assert found == []


@pytest.mark.nightly
@pytest.mark.skipif(not PARTS, reason="cannot run here: many minutes, see make calendars")
def test_beat_and_series_run_at_each_time_that_clocks_show_in_every_zone(capsys: pytest.CaptureFixture[str]) -> None:
    tried: set[object] = set()
    found: list[str] = []
    zones = part_of_the_day(sorted(available_timezones()))

    for zone in zones:
        there = changes(zone, YEARS)
        for begin, end in [*around(there), *between(there[-3:])]:
            if (key := shape(zone, begin, end)) not in tried:
                tried.add(key)
                found += faults(zone, begin, end)

    number = sum(len(changes(zone, YEARS)) for zone in zones)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{len(zones)} zones, {number} changes, {len(tried)} stretches that differ, {len(found)} faults\n"
        )
    assert found[:20] == []
