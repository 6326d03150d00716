"""When Celery's schedules occur, reckoned in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import crontab, schedstate, schedule

from delayhub.beat.schedule_times import missed_ms, next_ms
from delayhub.clock import due_ms, moment

BERLIN = ZoneInfo("Europe/Berlin")
AUTUMN = datetime(2026, 10, 25, 2, 0, tzinfo=BERLIN)  # comes again an hour later


def following(every: schedule, after: datetime, *, anchor: datetime) -> datetime:
    found = next_ms(every, due_ms(after), anchor_ms=due_ms(anchor), zone=BERLIN)
    assert found is not None
    return moment(found)


def test_an_interval_has_no_hole_where_clocks_change() -> None:
    every, at, found = schedule(timedelta(minutes=30)), AUTUMN, []
    for _ in range(6):
        at = following(every, at, anchor=AUTUMN)
        found.append(at)

    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(minutes=30)}
    assert found[0] == AUTUMN.astimezone(UTC) + timedelta(minutes=30)


def test_an_interval_is_counted_from_its_anchor_however_late_the_one_before_was() -> None:
    anchor = datetime(2026, 1, 1, 12, 0, 7, tzinfo=UTC)

    found = following(schedule(10), anchor + timedelta(seconds=24.5), anchor=anchor)

    assert found == anchor + timedelta(seconds=30)


def test_a_relative_interval_of_days_is_at_local_midnights() -> None:
    daily = schedule(timedelta(days=1), relative=True)

    first = following(daily, AUTUMN, anchor=AUTUMN)
    second = following(daily, first, anchor=AUTUMN)

    assert [at.astimezone(BERLIN).strftime("%d %H:%M") for at in (first, second)] == ["26 00:00", "27 00:00"]


class Doubling(schedule):
    """A schedule of a project's own, which says when to ask again."""

    def is_due(self, last_run_at: datetime) -> schedstate:
        return schedstate(is_due=True, next=2 * last_run_at.second)


@pytest.mark.parametrize("seconds", [0.5, 30, 60, 600, 3600])
def test_a_relative_interval_has_no_hole_where_clocks_change(seconds: float) -> None:
    often, before = schedule(timedelta(seconds=seconds), relative=True), AUTUMN.astimezone(UTC)
    for hours in range(4):
        at = before + timedelta(hours=hours - 1)

        assert following(often, at, anchor=at) == at + timedelta(seconds=seconds)


def test_a_relative_interval_is_rounded_down() -> None:
    at = datetime(2026, 1, 1, 12, 59, 59, 700_000, tzinfo=BERLIN)
    rounded = [
        following(schedule(timedelta(seconds=seconds), relative=True), at, anchor=at).astimezone(BERLIN)
        for seconds in (0.5, 2, 90, 5400)
    ]

    assert [f"{each:%H:%M:%S.%f}"[:10] for each in rounded] == ["13:00:00.0", "13:00:01.0", "13:01:00.0", "14:00:00.0"]


def test_a_schedule_of_a_projects_own_is_asked() -> None:
    after = datetime(2026, 1, 1, 12, 0, 7, tzinfo=UTC)

    assert following(Doubling(1), after, anchor=after) == after + timedelta(seconds=14)


def test_missed_occurrences_are_the_last_ones_however_long_ago_the_first_was() -> None:
    app = Celery("shop", set_as_current=False)
    now = datetime(2026, 6, 1, 12, 0, 30, tzinfo=UTC)
    since = datetime(2016, 6, 1, tzinfo=UTC)

    def missed(times: schedule, most: int) -> list[datetime]:
        found = missed_ms(times, due_ms(since), due_ms(now), anchor_ms=due_ms(since), zone=BERLIN, most=most)
        return [moment(at) for at in found]

    assert missed(crontab(minute=0, hour=3, app=app), 2) == [
        datetime(2026, 5, 31, 3, tzinfo=UTC),
        datetime(2026, 6, 1, 3, tzinfo=UTC),
    ]
    assert missed(schedule(60), 1) == [datetime(2026, 6, 1, 12, tzinfo=UTC)]
    yearly = crontab(minute=0, hour=0, day_of_month=1, month_of_year=1, app=app)
    assert missed(yearly, 1) == [datetime(2026, 1, 1, tzinfo=UTC)]
