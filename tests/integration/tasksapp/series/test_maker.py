"""SeriesMaker: occurrences are made by count and time, each once, and edits make them again.

How far each series is made is written by ``advance_series``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from delayhub.clock import due_ms
from delayhub.engine import TimerLane
from tasksapp.models import BizType, Job, Series, Status, Tenant, TenantCount
from tasksapp.models.api_key import MOVING
from tasksapp.series import maker as module
from tasksapp.series.verbs import change, create, trigger
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim
from tests.integration.tasksapp.series_making import HOUR, MINUTE, SECOND, At, occurrences

pytestmark = pytest.mark.django_db(transaction=True)


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


def test_a_turn_in_which_no_series_waits_asks_the_database_once(
    biz_type: BizType, at: At, begin: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    create("order.close", name="hourly", every=HOUR, anchor=begin)
    assert at(begin - SECOND) == 0  # looks for live jobs that have ended, too: not at each turn

    with django_assert_num_queries(1):
        assert at(begin - SECOND) == 0


@pytest.mark.parametrize("closed", [{"moved_to": MOVING}, {"moved_to": "https://b.example"}, {"enabled": False}])
def test_series_of_a_closed_biz_type_keep_no_others_waiting(
    biz_type: BizType, make_biz_type: MakeBizType, at: At, begin: datetime, monkeypatch: pytest.MonkeyPatch,
    closed: dict[str, object],
) -> None:  # fmt: skip
    monkeypatch.setattr(module, "STEP_SERIES", 1)
    make_biz_type("closed")
    create("closed", name="first", every=HOUR, anchor=begin)
    other = create("order.close", name="second", every=HOUR, anchor=begin)
    BizType.objects.filter(code="closed").update(**closed)

    assert at(begin) == 1
    assert occurrences(other) == [begin, begin + HOUR]


@pytest.mark.parametrize("made", [1, 0], ids=["made", "of a tenant that gets no more jobs"])
def test_a_turn_ends_after_a_while_so_that_other_timers_are_not_kept_waiting(
    biz_type: BizType, at: At, begin: datetime, monkeypatch: pytest.MonkeyPatch, made: int
) -> None:
    monkeypatch.setattr(module, "STEP_SERIES", 1)
    for number in range(3):
        create("order.close", name=f"hourly {number}", every=HOUR, anchor=begin)
    if not made:
        nothing = dict.fromkeys(("pending_jobs", "pending_bytes", "series", "biz_types", "api_keys"), 0)
        TenantCount.objects.create(tenant_id=biz_type.tenant_id, counted_at=begin, **nothing)
        Tenant.objects.update(most_pending_jobs=0)
    seconds = count()
    monkeypatch.setattr(at.clock, "monotonic", lambda: next(seconds) * 1.0)

    at.clock.seconds = due_ms(begin) / 1000
    turns = [at.maker.run_once() for _ in range(4)]

    assert [(turn.made, turn.has_more) for turn in turns] == [(made, True)] * 3 + [(0, False)]


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
    hourly = f"{begin.minute} * * * *"
    broken = create("order.close", name="a", cron=hourly)
    create("order.close", name="b", cron=hourly)
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


@pytest.mark.parametrize("overlap", ["skip", "cancel"])
def test_those_that_may_not_overlap_are_all_made_and_the_claim_decides(
    biz_type: BizType, at: At, begin: datetime, overlap: str
) -> None:
    series = create("order.close", name="secondly", every=SECOND, anchor=begin, starts_at=begin, overlap=overlap)
    at(begin)
    made = occurrences(series)
    first = Job.objects.get(occurrence_at=begin).id
    claim(first, now=begin)

    at(begin + 35 * SECOND)

    series.refresh_from_db()
    assert series.live_job == first
    # Judged when they are made, there would be none beside the one that lives.
    assert made == [begin + step * SECOND for step in range(61)]
    assert occurrences(series) == [begin + step * SECOND for step in range(96)]
    assert Job.objects.filter(status=Status.PENDING).count() == 95


def test_a_job_begins_that_waited_for_one_that_ended_without_a_word(
    biz_type: BizType, at: At, begin: datetime, lane: TimerLane
) -> None:
    now = timezone.now().replace(microsecond=0) + SECOND
    series = create("order.close", name="yearly", cron="0 0 1 1 *", overlap="cancel")
    first, second = trigger(series.pk), trigger(series.pk)
    claim(first, now=now + SECOND)
    claim(second, now=now + SECOND)
    Job.objects.filter(id=first).update(status=Status.DEAD)

    at(now + 2 * SECOND)

    series.refresh_from_db()
    assert (series.live_job, series.waiting_job) == (None, None)
    assert Job.objects.get(id=second).next_run_at == now + 2 * SECOND
    assert lane.look("order.close", [str(second)]) == [due_ms(now + 2 * SECOND)]
    assert [job.id for job in claim(second, now=now + 2 * SECOND).claimed] == [second]


def test_those_that_live_are_left_alone_and_ends_are_looked_for_every_few_seconds(
    biz_type: BizType, at: At, begin: datetime
) -> None:
    now = timezone.now().replace(microsecond=0) + SECOND
    series = create("order.close", name="yearly", cron="0 0 1 1 *", overlap="skip")
    first = trigger(series.pk)
    claim(first, now=now + SECOND)
    live = []

    for seconds in (1, 2, 8):
        at(now + seconds * SECOND)
        live.append(Series.objects.get().live_job)
        Job.objects.filter(id=first).update(status=Status.DEAD)

    assert live == [first, first, None]
