"""SeriesMaker: occurrences are made by count and time, each once, and what was missed is caught up as asked for.

How far each series is made is written by ``advance_series``.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from django.utils import timezone

from delayhub.clock import due_ms
from delayhub.engine import TimerLane
from tasksapp.models import BizType, Job, Series, Status
from tasksapp.series import maker as module
from tasksapp.series.maker import SeriesMaker
from tasksapp.series.verbs import change, create
from tests.standing_clock import StandingClock

pytestmark = pytest.mark.django_db(transaction=True)

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


class At:
    """Makers whose clock a test sets."""

    def __init__(self) -> None:
        self.clock = StandingClock()
        self.maker = SeriesMaker(using="default", clock=self.clock)

    def __call__(self, now: datetime) -> int:
        """What a turn at that moment makes."""
        self.clock.seconds = due_ms(now) / 1000
        return self.maker.run_once().made


@pytest.fixture
def at() -> At:
    return At()


@pytest.fixture
def begin() -> datetime:
    """The beginning of the next hour."""
    return timezone.now().replace(minute=0, second=0, microsecond=0) + HOUR


def occurrences(series: Series, **which: Any) -> list[datetime]:
    rows = Job.objects.filter(series=series, occurrence_at__isnull=False, **which).order_by("occurrence_at")
    return list(rows.values_list("occurrence_at", flat=True))


def test_the_next_occurrence_is_made_at_once_and_each_further_one_when_its_time_has_come(
    biz_type: BizType, lane: TimerLane, at: At, begin: datetime
) -> None:
    series = create("order.close", name="hourly", every=HOUR, anchor=begin, body={"a": 1}, biz_id="all", priority=2)

    assert occurrences(series) == [begin]
    job = Job.objects.get()
    assert (job.body, job.biz_id, job.priority, job.due_at) == ('{"a":1}', "all", 2, begin)
    assert at(begin - SECOND) == 0
    assert at(begin) == 1
    assert at(begin) == 0
    assert occurrences(series) == [begin, begin + HOUR]
    series.refresh_from_db()
    assert (series.made, series.next_occurrence_at, series.make_at) == (2, begin + 2 * HOUR, begin + HOUR)


def test_a_turn_ends_after_a_while_so_that_other_timers_are_not_kept_waiting(
    biz_type: BizType, at: At, begin: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STEP_SERIES", 1)
    for number in range(3):
        create("order.close", name=f"hourly {number}", every=HOUR, anchor=begin)
    seconds = count()
    monkeypatch.setattr(at.clock, "monotonic", lambda: next(seconds) * 1.0)

    at.clock.seconds = due_ms(begin) / 1000
    turns = [at.maker.run_once() for _ in range(4)]

    assert [(turn.made, turn.has_more) for turn in turns] == [(1, True)] * 3 + [(0, False)]


def test_of_what_is_frequent_only_the_next_minute_is_made(biz_type: BizType, at: At) -> None:
    began = timezone.now()
    series = create("order.close", name="secondly", cron="* * * * * *")

    made = occurrences(series)

    assert 59 <= len(made) <= 61
    assert at(began + 20 * SECOND) == 0
    assert 25 <= at(began + 35 * SECOND) <= 40
    assert len(set(occurrences(series))) == Job.objects.count()


def test_timers_are_set_when_the_jobs_are_committed(biz_type: BizType, lane: TimerLane) -> None:
    create("order.close", name="soon", every=MINUTE, anchor=timezone.now() + 5 * SECOND)

    assert lane.count("order.close") == Job.objects.count() == 1


def test_jitter_is_on_the_due_time_alone(biz_type: BizType, begin: datetime) -> None:
    series = create("order.close", name="spread", every=HOUR, anchor=begin, jitter=600)

    job = Job.objects.get()
    assert job.occurrence_at == begin
    assert begin <= job.due_at < begin + 10 * MINUTE
    assert series.jitter == 10 * MINUTE


def test_it_ends_after_its_count_or_its_end(biz_type: BizType, at: At, begin: datetime) -> None:
    two = create("order.close", name="two", every=HOUR, anchor=begin, count=2)
    early = create("order.close", name="early", every=HOUR, anchor=begin, ends_at=begin + HOUR)
    for step in range(5):
        at(begin + step * HOUR)

    assert occurrences(two) == occurrences(early) == [begin, begin + HOUR]
    assert set(Series.objects.values_list("make_at", flat=True)) == {None}


@pytest.mark.parametrize(
    ("catch_up", "missed"),
    [
        # the one before the outage is not run either
        ("none", []),
        # the latest takes the place of the one from before the outage
        ("latest", [9]),
        ("all", list(range(10))),
    ],
)
def test_what_was_missed_is_caught_up_as_the_series_says(
    biz_type: BizType, at: At, begin: datetime, catch_up: str, missed: list[int]
) -> None:
    series = create("order.close", name="hourly", every=HOUR, anchor=begin, catch_up=catch_up)
    back = begin + 9 * HOUR + 30 * MINUTE

    at(back)

    assert occurrences(series) == [*(begin + step * HOUR for step in missed), begin + 10 * HOUR]
    caught = Job.objects.filter(occurrence_at__lt=back).exclude(occurrence_at=begin)
    # Due now, so that no rule about lateness ends them.
    assert set(caught.values_list("due_at", flat=True)) <= {back}


def test_a_count_takes_in_those_that_were_made_again_after_an_outage(
    biz_type: BizType, at: At, begin: datetime
) -> None:
    series = create("order.close", name="two", every=HOUR, anchor=begin, count=2)

    at(begin + 5 * HOUR + 30 * MINUTE)

    assert occurrences(series) == [begin + 5 * HOUR, begin + 6 * HOUR]
    series.refresh_from_db()
    assert (series.made, series.next_occurrence_at, series.make_at) == (2, None, None)


def test_no_more_than_the_latest_thousand_are_caught_up_a_hundred_a_turn(
    biz_type: BizType, at: At, begin: datetime
) -> None:
    begin = begin.replace(year=begin.year - 20)
    series = create("order.close", name="minutely", every=MINUTE, anchor=begin, catch_up="all")
    Job.objects.all().delete()
    Series.objects.update(next_occurrence_at=begin, make_at=begin)
    now = timezone.now().replace(second=30, microsecond=0)

    turns = [at(now + step * SECOND) for step in range(12)]

    made = occurrences(series, occurrence_at__lt=now)
    assert turns[:9] == [100] * 9
    assert len(made) == 1_000
    assert now - made[-1] < MINUTE
    assert made[-1] - made[0] == 999 * MINUTE


def test_what_has_a_row_is_not_made_again(biz_type: BizType, at: At, begin: datetime) -> None:
    series = create("order.close", name="hourly", every=HOUR, anchor=begin)
    Series.objects.update(next_occurrence_at=begin, make_at=begin - MINUTE)

    at(begin - MINUTE)

    assert occurrences(series) == [begin]


def test_a_series_of_a_disabled_biz_type_waits(biz_type: BizType, at: At, begin: datetime) -> None:
    create("order.close", name="hourly", every=HOUR, anchor=begin)
    BizType.objects.update(enabled=False)

    assert at(begin) == 0

    BizType.objects.update(enabled=True)
    assert at(begin + 11 * SECOND) == 1


def test_one_that_cannot_be_reckoned_holds_up_no_other(biz_type: BizType, at: At, begin: datetime) -> None:
    broken = create("order.close", name="a", cron="0 * * * *")
    create("order.close", name="b", cron="0 * * * *")
    Series.objects.filter(id=broken.pk).update(time_zone="Mars/Olympus")

    assert at(begin) == 1


def test_a_turn_makes_a_bounded_number_and_says_that_there_is_more(
    biz_type: BizType, at: At, begin: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TURN_JOBS", 5)
    monkeypatch.setattr(module, "STEP_JOBS", 3)
    for number in range(7):
        create("order.close", name=f"n{number}", every=HOUR, anchor=begin)
    at.clock.seconds = due_ms(begin) / 1000

    first, second = at.maker.run_once(), at.maker.run_once()

    assert (first.made, first.has_more) == (5, True)
    assert (second.made, second.has_more) == (2, False)
    assert Job.objects.count() == 14


def test_an_edit_deletes_what_no_worker_has_taken_and_makes_it_again(
    biz_type: BizType, at: At, begin: datetime, lane: TimerLane
) -> None:
    series = create("order.close", name="hourly", every=HOUR, anchor=begin)
    at(begin)
    Job.objects.filter(occurrence_at=begin).update(status=Status.RUNNING, attempts=1)

    change(series.pk, every=HOUR, anchor=begin + 30 * MINUTE)

    # never below the last that was taken, and nothing is cancelled
    assert occurrences(series) == [begin, begin + 30 * MINUTE]
    assert not Job.objects.filter(status=Status.CANCELLED).exists()
    change(series.pk, anchor=begin)
    assert occurrences(series) == [begin, begin + HOUR]
    assert lane.count("order.close") == Job.objects.filter(status=Status.PENDING).count()


def test_moments_are_those_of_the_wall_clock(biz_type: BizType) -> None:
    series = create("order.close", name="nine", cron="0 9 * * *", time_zone="Asia/Shanghai")

    (moment,) = occurrences(series)

    assert moment.astimezone(UTC).hour == 1
