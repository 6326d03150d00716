"""SeriesMaker after an outage: what was missed is caught up as the series asks for, and no rule about lateness ends it.

What an outage made late is moved and dropped by ``unclaimed_occurrences``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp.jobs.creation import create as create_job
from tasksapp.jobs.editing import edit
from tasksapp.models import BizType, Job, Series, Status, Tenant, TenantCount
from tasksapp.series.maker import SeriesMaker
from tasksapp.series.verbs import create
from tasksapp.sql.series_overlap import SETTLE_WAIT
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.claiming import claim
from tests.integration.tasksapp.receiver import Receiver
from tests.integration.tasksapp.series_making import HOUR, MINUTE, SECOND, At, occurrences

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def late_is_skipped(biz_type: BizType) -> BizType:
    """A biz type whose jobs may be ten minutes late."""
    BizType.objects.update(max_lateness=10 * MINUTE, when_late="skip")
    return biz_type


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


@pytest.mark.parametrize("catch_up", ["latest", "all"])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        # no further one leads the maker to it
        {"count": 1},
        # due a while after its occurrence
        {"jitter": 1_200},
    ],
)
def test_the_one_that_was_a_job_already_is_caught_up_too(
    late_is_skipped: BizType, lane: TimerLane, at: At, begin: datetime, catch_up: str, fields: dict[str, Any]
) -> None:
    create("order.close", name="hourly", every=HOUR, anchor=begin, catch_up=catch_up, **fields)
    job = Job.objects.get()
    back = job.due_at + 25 * MINUTE

    early = claim(job.id, now=back)
    at(back)
    moved = Job.objects.get(id=job.id)
    answer = claim(job.id, now=back + 2 * SECOND)

    assert (early.claimed, early.ended, early.not_due) == ([], [], [(job.id, back + SETTLE_WAIT)])
    assert (moved.due_at, moved.next_run_at, moved.occurrence_at, moved.version) == (back, back, begin, 2)
    (claimed,) = answer.claimed
    assert claimed.occurrence_at == begin


def test_of_what_was_made_for_the_next_minute_the_latest_is_caught_up(biz_type: BizType, at: At) -> None:
    began = timezone.now().replace(microsecond=0) + 10 * SECOND
    series = create("order.close", name="often", every=10 * SECOND, anchor=began)
    made = occurrences(series)
    end = made[-1]

    at(end + 45 * SECOND)

    late = occurrences(series, occurrence_at__lte=end + 45 * SECOND)
    assert len(made) >= 6
    assert late == [end + 10 * step * SECOND for step in (1, 2, 3, 4)]


def test_an_outage_moves_none_that_was_late_before(late_is_skipped: BizType, at: At, begin: datetime) -> None:
    series = create("order.close", name="hourly", every=HOUR, anchor=begin)
    BizType.objects.update(paused_until=begin + 10 * HOUR)
    for step in range(3):
        at(begin + step * HOUR)

    at(begin + 3 * HOUR + 40 * MINUTE)

    due = dict(Job.objects.filter(series=series).values_list("occurrence_at", "due_at"))
    assert [due[begin + step * HOUR] - begin for step in range(5)] == [
        0 * HOUR, HOUR, 2 * HOUR, 3 * HOUR + 40 * MINUTE, 4 * HOUR
    ]  # fmt: skip


@pytest.mark.parametrize("catch_up", ["none", "latest"])
def test_a_quota_that_was_used_up_takes_none_that_was_late_before(
    biz_type: BizType, at: At, begin: datetime, catch_up: str
) -> None:
    series = create("order.close", name="hourly", every=HOUR, anchor=begin, catch_up=catch_up)
    BizType.objects.update(paused_until=begin + 10 * HOUR)
    at(begin)
    before = occurrences(series)
    Tenant.objects.update(most_pending_jobs=0)
    nothing = dict.fromkeys(("pending_jobs", "pending_bytes", "series", "biz_types", "api_keys"), 0)
    TenantCount.objects.create(tenant_id=biz_type.tenant_id, counted_at=begin, **nothing)
    for moment in (HOUR, 2 * HOUR, 3 * HOUR):
        assert at(begin + moment) == 0
    Tenant.objects.update(most_pending_jobs=None)

    at(begin + 3 * HOUR + 20 * SECOND)

    caught = [begin + 3 * HOUR] if catch_up == "latest" else []
    assert occurrences(series) == [*before, *caught, begin + 4 * HOUR]


@pytest.mark.parametrize("catch_up", ["none", "all"])
def test_what_an_outage_did_to_the_first_job_of_a_flow_key_lets_the_next_one_go(
    make_biz_type: MakeBizType, lane: TimerLane, at: At, begin: datetime, catch_up: str
) -> None:
    make_biz_type("ship", ordered=BizType.Ordered.BLOCKS)
    create("ship", name="hourly", every=HOUR, anchor=begin, catch_up=catch_up, flow_key="anna")
    # A person gave it another key, of which the series makes no more.
    edit(Job.objects.get().id, flow_key="eva")
    behind = create_job("ship", flow_key="eva", due_at=begin + SECOND).job_id
    assert lane.look("ship", [str(behind)], key="eva") == [None]

    at(begin + 9 * HOUR + 30 * MINUTE)

    assert lane.look("ship", [str(behind)], key="eva") != [None]


def test_jobs_that_are_late_without_an_outage_are_not_moved(late_is_skipped: BizType, at: At, begin: datetime) -> None:
    create("order.close", name="hourly", every=HOUR, anchor=begin)
    job = Job.objects.get()
    at(begin)

    at(begin + 40 * MINUTE)

    assert claim(job.id, now=begin + 40 * MINUTE).ended == [job.id]
    assert Job.objects.get(id=job.id).due_at == begin


def test_with_none_a_counted_series_makes_others_for_those_that_were_dropped(
    biz_type: BizType, at: At, begin: datetime
) -> None:
    series = create("order.close", name="one", every=HOUR, anchor=begin, count=1, catch_up="none")

    at(begin + 40 * MINUTE)

    assert occurrences(series) == [begin + HOUR]
    series.refresh_from_db()
    assert series.made == 1


def test_a_disabled_biz_type_is_an_outage(late_is_skipped: BizType, at: At, begin: datetime) -> None:
    create("order.close", name="hourly", every=HOUR, anchor=begin)
    job = Job.objects.get()
    BizType.objects.update(enabled=False)
    back = begin + 40 * MINUTE
    assert at(begin) == at(back) == 0
    BizType.objects.update(enabled=True)

    assert claim(job.id, now=back).ended == []
    at(back)

    assert [one.id for one in claim(job.id, now=back + 2 * SECOND).claimed] == [job.id]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_job_that_is_caught_up_is_sent_with_its_occurrence_however_late_that_is(
    make_biz_type: MakeBizType, receiver: Receiver, clock: RedisClock, fire: Fire, *, is_there: bool
) -> None:
    make_biz_type("order.close", url=receiver.url(), max_lateness=10 * MINUTE, when_late="skip")
    missed = timezone.now().replace(microsecond=0) - 40 * MINUTE
    series = create("order.close", name="hourly", every=HOUR, anchor=missed + HOUR)
    stopped: dict[str, Any] = {"make_at": missed, "next_occurrence_at": missed + HOUR}
    if is_there:
        Job.objects.update(occurrence_at=missed, due_at=missed, next_run_at=missed)
    else:
        Job.objects.all().delete()
        stopped["next_occurrence_at"] = missed
    Series.objects.update(**stopped)
    assert fire() == []

    SeriesMaker(using="default", clock=clock).run_once()
    (fired,) = fire()

    job = Job.objects.get(id=fired)
    assert (job.status, job.occurrence_at) == (Status.SUCCEEDED, missed)
    (request,) = receiver.received
    assert request.headers["delayhub-occurrence-at"] == missed.isoformat(timespec="milliseconds")
    assert occurrences(series) == [missed, missed + HOUR]


def test_a_count_takes_in_those_that_were_made_again_after_an_outage(
    biz_type: BizType, at: At, begin: datetime
) -> None:
    series = create("order.close", name="two", every=HOUR, anchor=begin, count=2)

    at(begin + 5 * HOUR + 30 * MINUTE)

    assert occurrences(series) == [begin + 5 * HOUR, begin + 6 * HOUR]
    series.refresh_from_db()
    assert (series.made, series.next_occurrence_at) == (2, None)


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
