"""Cron: what an expression names, above all where clocks change."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from tasksapp.errors import InvalidSeries
from tasksapp.series.cron import cron
from tasksapp.series.outlook import preview


def between(expression: str, zone: str, begin: str, end: str) -> list[str]:
    """The moments after one and before the other wall-clock time, as clocks in the zone show them, with the offset."""
    tz = ZoneInfo(zone)
    walk = cron(expression, time_zone=zone)
    first, last = (datetime.fromisoformat(each).replace(tzinfo=tz) for each in (begin, end))
    forwards = []
    for each in walk.after(first - timedelta(microseconds=1)):
        if each >= last:
            break
        forwards.append(each)
    backwards = list(islice(walk.before(last), len(forwards)))
    assert backwards[::-1] == forwards
    return [each.astimezone(tz).strftime("%H:%M%z") for each in forwards]


#: Ten zones: the day whose clocks skip some time, and the day on which some comes twice, with what each class does.
GAPS = [
    # zone, day, a time that is left out, the first moment after it, what "*/30" shows around it
    ("Europe/Berlin", "2026-03-29", "30 2", "03:00+0200", "01:30+0100 03:00+0200"),
    ("Europe/London", "2026-03-29", "30 1", "02:00+0100", "00:30+0000 02:00+0100"),
    ("America/New_York", "2026-03-08", "30 2", "03:00-0400", "01:30-0500 03:00-0400"),
    ("America/Los_Angeles", "2026-03-08", "15 2", "03:00-0700", "01:30-0800 03:00-0700"),
    ("America/Havana", "2026-03-08", "0 0", "01:00-0400", "01:00-0400 01:30-0400"),
    ("America/Santiago", "2026-09-06", "0 0", "01:00-0300", "01:00-0300 01:30-0300"),
    ("Africa/Cairo", "2026-04-24", "30 0", "01:00+0300", "01:00+0300 01:30+0300"),
    ("Asia/Beirut", "2026-03-29", "0 0", "01:00+0300", "01:00+0300 01:30+0300"),
    ("Australia/Sydney", "2026-10-04", "30 2", "03:00+1100", "01:30+1000 03:00+1100"),
    # half an hour
    ("Australia/Lord_Howe", "2026-10-04", "15 2", "02:30+1100", "01:30+1030 02:30+1100"),
]
FOLDS = [
    # zone, day, a time that comes twice, the first of the two, all that "30" of each hour shows from one to the next
    ("Europe/Berlin", "2026-10-25", "30 2", "02:30+0200", "01:30+0200 02:30+0200 02:30+0100 03:30+0100"),
    ("Europe/London", "2026-10-25", "30 1", "01:30+0100", "00:30+0100 01:30+0100 01:30+0000 02:30+0000"),
    ("America/New_York", "2026-11-01", "30 1", "01:30-0400", "00:30-0400 01:30-0400 01:30-0500 02:30-0500"),
    ("America/Los_Angeles", "2026-11-01", "30 1", "01:30-0700", "00:30-0700 01:30-0700 01:30-0800 02:30-0800"),
    ("America/Havana", "2026-11-01", "30 0", "00:30-0400", "00:30-0400 00:30-0500 01:30-0500 02:30-0500"),
    ("America/Santiago", "2026-04-04", "30 23", "23:30-0300", "22:30-0300 23:30-0300 23:30-0400"),
    ("Africa/Cairo", "2026-10-29", "30 23", "23:30+0300", "22:30+0300 23:30+0300 23:30+0200"),
    ("Asia/Beirut", "2026-10-24", "30 23", "23:30+0300", "22:30+0300 23:30+0300 23:30+0200"),
    ("Australia/Sydney", "2026-04-05", "30 2", "02:30+1100", "01:30+1100 02:30+1100 02:30+1000 03:30+1000"),
    # half an hour
    ("Australia/Lord_Howe", "2026-04-05", "45 1", "01:45+1100", "00:30+1100 01:30+1100 01:30+1030 02:30+1030"),
]


def next_day(day: str) -> str:
    return (datetime.fromisoformat(day) + timedelta(days=1)).date().isoformat()


@pytest.mark.parametrize(("zone", "day", "fixed", "moment", "steps"), GAPS)
def test_where_clocks_skip_a_time_it_runs_once_at_the_first_moment_after_it_or_not_at_all(
    zone: str, day: str, fixed: str, moment: str, steps: str
) -> None:
    assert between(f"{fixed} * * *", zone, day, next_day(day)) == [moment]
    shown = between("*/30 * * * *", zone, day, next_day(day))
    at = shown.index(steps.split(maxsplit=1)[0])
    assert shown[at : at + 2] == steps.split()


@pytest.mark.parametrize(("zone", "day", "fixed", "moment", "steps"), FOLDS)
def test_where_a_time_comes_twice_it_runs_the_first_time_or_both_times(
    zone: str, day: str, fixed: str, moment: str, steps: str
) -> None:
    assert between(f"{fixed} * * *", zone, day, next_day(day)) == [moment]
    shown = between("30 * * * *", zone, day, next_day(day))
    at = shown.index(steps.split(maxsplit=1)[0])
    assert shown[at : at + len(steps.split())] == steps.split()


def test_six_fields_keep_to_the_same_rules_and_add_their_seconds() -> None:
    zone = ZoneInfo("Europe/Berlin")
    gap = datetime(2026, 3, 29, tzinfo=zone)
    fold = datetime(2026, 10, 25, tzinfo=zone)

    in_gap = next(cron("15 30 2 * * *", time_zone="Europe/Berlin").after(gap))
    in_fold = list(islice(cron("15 30 2 * * *", time_zone="Europe/Berlin").after(fold), 2))
    steps = list(islice(cron("0,20 30 * * * *", time_zone="Europe/Berlin").after(fold + timedelta(hours=2)), 4))

    assert in_gap.astimezone(zone).strftime("%d %H:%M:%S") == "29 03:00:15"
    assert [each.astimezone(zone).strftime("%d %H:%M:%S%z") for each in in_fold] == [
        "25 02:30:15+0200",
        "26 02:30:15+0100",
    ]
    assert [each.astimezone(UTC).strftime("%H:%M:%S") for each in steps] == [
        "00:30:00",
        "00:30:20",
        "01:30:00",
        "01:30:20",
    ]


def test_two_times_in_one_gap_are_one_moment() -> None:
    shown = between("0,30 2,3 * * *", "Europe/Berlin", "2026-03-29", "2026-03-30")

    assert shown == ["03:00+0200", "03:30+0200"]


def test_a_day_that_a_zone_left_out_runs_at_its_end() -> None:
    assert between("30 12 30 12 *", "Pacific/Apia", "2011-12-01", "2012-01-05") == ["00:00+1400"]


@pytest.mark.parametrize(
    ("field", "code", "expression", "zone"),
    [
        ("cron", "invalid", "1--100000000 * * * *", "UTC"),
        ("cron", "invalid", "61 * * * *", "UTC"),
        # 30 February and 31 April never come
        ("cron", "invalid", "0 0 30 2 *", "UTC"),
        ("cron", "invalid", "0 0 31 4 *", "UTC"),
        ("cron", "fields", "* * * *", "UTC"),
        ("cron", "fields", "", "UTC"),
        ("cron", "invalid", "@daily * * * *", "UTC"),
        ("cron", "too_long", "0 0 * * " + "1," * 100 + "1", "UTC"),
        ("time_zone", "unknown", "0 0 * * *", "Mars/Olympus"),
        ("time_zone", "unknown", "0 0 * * *", "../../etc/passwd"),
    ],
)
def test_what_cannot_be_or_never_comes_is_refused_at_once(field: str, code: str, expression: str, zone: str) -> None:
    began = time.process_time()
    with pytest.raises(InvalidSeries) as refusal:
        cron(expression, time_zone=zone)

    assert (refusal.value.field, refusal.value.code) == (field, code)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "expression",
    [
        *("*/0 * * * *", "5-1 * * * *", "1,,2 * * * *", ", * * * *", "- * * * *", "*/ * * * *", "/5 * * * *"),
        *("0 0 31 2 *", "0 0 0 * *", "0 0 1 13 *", "0 24 * * *", "60 * * * *", "0 0 * * 8", "0 0 * * mo"),
        *("0 0 1 janu *", "0 0 L-3 * *", "0 0 * * 5#6", "0 0 * * #2", "0 0 ? * *", "0 0 W * *", "-1 * * * *"),
        *("1.5 * * * *", "\u0661 * * * *", "0 0 * * L", "0 0 * * sat-sun", "*/5/2 * * * *", "60 * * * * *"),
    ],
)
def test_no_other_form_is_read_as_something_else(expression: str) -> None:
    with pytest.raises(InvalidSeries):
        cron(expression)


@pytest.mark.parametrize("expression", ["*/61 * * * *", "0 */25 * * *", "0-10/12 * * * *", "0 0 L/2 * *"])
def test_a_step_larger_than_its_range_is_refused_in_a_new_schedule_and_kept_in_a_stored_one(expression: str) -> None:
    with pytest.raises(InvalidSeries, match="is larger than what it counts through") as refusal:
        preview(cron=expression)

    assert (refusal.value.field, refusal.value.code) == ("cron", "step")
    assert cron(expression)
