"""What the counter writes is what the database says at that moment, whatever moves meanwhile."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from django.db import connections, transaction
from django.db.models import Count, Max, Min, Q
from django.utils import timezone

from delayhub.engine import SystemClock
from tasksapp.maintenance import counter as module
from tasksapp.maintenance.counter import IDLE_SHARE, Counter
from tasksapp.models import BizType, DeadCount, Job, JobCount, Pulse, Status, Upcoming
from tasksapp.stats.counts import BizTypeCounts, read_counts
from tasksapp.stats.pulses import read_series
from tasksapp.stats.upcoming import read_upcoming
from tests.fixture_types import MakeBizType
from tests.job_rows import job_row, store_job
from tests.standing_clock import StandingClock

pytestmark = pytest.mark.django_db(transaction=True)

JOBS, STEP = 3_000, 25
MINUTE = timedelta(minutes=1)


def counter() -> Counter:
    return Counter(using="default", clock=SystemClock())


def counted_by_the_database(biz_type: BizType, *, now: datetime) -> BizTypeCounts:
    pending, dead = Q(status=Status.PENDING), Q(status=Status.DEAD)
    found = Job.objects.filter(biz_type=biz_type).aggregate(
        pending=Count("id", filter=pending),
        due_now=Count("id", filter=pending & Q(next_run_at__lte=now)),
        running=Count("id", filter=Q(status=Status.RUNNING)),
        dead=Count("id", filter=dead),
        oldest_due_at=Min("next_run_at", filter=pending),
        next_due_at=Min("next_run_at", filter=pending & Q(next_run_at__gt=now)),
    )
    return BizTypeCounts(**found)


def test_counts_are_those_of_the_database(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    empty = make_biz_type("empty")
    for minutes in (-5, -1, 10, 20):
        store_job(biz_type, due_in=minutes * MINUTE)
    store_job(biz_type, Status.RUNNING)
    for error_class in ("http.503", "http.503", "refused"):
        store_job(biz_type, Status.DEAD, due_in=-MINUTE, error_class=error_class)
    store_job(biz_type, Status.SUCCEEDED)

    counter().count()

    found = read_counts()
    assert found.as_of is not None
    assert found.bound is None
    assert found.by_biz_type == {
        biz_type.id: counted_by_the_database(biz_type, now=found.as_of),
        empty.id: BizTypeCounts(),
    }
    assert found.total[:4] == (4, 2, 1, 3)
    assert dict(DeadCount.objects.values_list("error_class", "dead")) == {"http.503": 2, "refused": 1}
    died = Job.objects.filter(error_class="http.503").aggregate(first=Min("finished_at"), last=Max("finished_at"))
    stored = DeadCount.objects.get(error_class="http.503")
    assert (stored.first_at, stored.last_at) == (died["first"], died["last"])


def test_what_is_dead_no_more_is_counted_no_more(biz_type: BizType) -> None:
    job = store_job(biz_type, Status.DEAD, error_class="refused")
    counter().count()

    Job.objects.filter(id=job.id).update(status=Status.DROPPED)
    counter().count()

    assert not DeadCount.objects.exists()
    assert read_counts().of(biz_type.id).dead == 0


class State(NamedTuple):
    """What the database held from one commit to the next."""

    begins: datetime
    counts: tuple[int, int, int, int]


def test_counts_are_those_of_one_moment_while_thousands_of_jobs_drain(biz_type: BizType) -> None:
    Job.objects.bulk_create([job_row(biz_type, due_in=-MINUTE, error_class="http.503") for _ in range(JOBS)])
    ids = list(Job.objects.order_by("id").values_list("id", flat=True))
    states = [State(timezone.now(), (JOBS, JOBS, 0, 0))]
    ends: list[datetime] = []

    def drain() -> None:
        """Each step takes some jobs, and half of those before them die, in one transaction."""
        died = 0
        for n in range(0, JOBS, STEP):
            with transaction.atomic():
                Job.objects.filter(id__in=ids[n : n + STEP]).update(status=Status.RUNNING)
                ended = ids[max(0, n - STEP) : n]
                Job.objects.filter(id__in=ended[::2]).update(status=Status.DEAD, finished_at=timezone.now())
                Job.objects.filter(id__in=ended[1::2]).update(status=Status.SUCCEEDED)
                died += len(ended[::2])
                left = JOBS - n - STEP
                states.append(State(timezone.now(), (left, left, STEP, died)))
            ends.append(timezone.now())
            time.sleep(0.002)  # so that the counter's own writes get their turn on SQLite
        connections.close_all()

    mover = threading.Thread(target=drain)
    mover.start()
    counting, seen = counter(), set()
    while mover.is_alive():
        counting.count()
        counted_until = timezone.now()
        found = read_counts()
        assert found.as_of is not None
        own = found.of(biz_type.id)[:4]

        # A state may be seen from the moment of its commit on, until the next one is committed.
        # The last one may be committed already, and its end not be noted yet.
        following = [*ends, *[timezone.now()] * 2]
        possible = {
            state.counts
            for state, end in zip(states, following, strict=False)
            if state.begins <= counted_until and end >= found.as_of
        }
        assert own in possible
        assert DeadCount.objects.filter(dead=own[3]).exists() or own[3] == 0
        seen.add(own)
    mover.join()

    assert len(seen) > 5
    counting.count()
    assert read_counts().of(biz_type.id)[:4] == (0, 0, STEP, (JOBS - STEP) // STEP * 13)


def test_jobs_ahead_are_counted_by_five_minutes_and_by_days(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    other = make_biz_type("other")
    at = (timezone.now() + timedelta(hours=2)).replace(minute=31, second=0, microsecond=0)
    for seconds in (0, 59, 239.999):
        store_job(biz_type, next_run_at=at + timedelta(seconds=seconds))
    store_job(biz_type, next_run_at=at + timedelta(seconds=240))
    store_job(other, next_run_at=at)
    store_job(other, next_run_at=at + timedelta(days=3))

    counter().look_ahead()
    counter().look_days_ahead()

    found = Upcoming.objects.filter(span_seconds=300).order_by("at", "biz_type_id")
    assert list(found.values_list("at", "biz_type_id", "jobs")) == [
        (at - timedelta(minutes=1), biz_type.id, 3),
        (at - timedelta(minutes=1), other.id, 1),
        (at + timedelta(minutes=4), biz_type.id, 1),
    ]
    days = read_upcoming(hours=24 * 30, seconds=86_400)
    assert len(days) == 30
    assert sum(day.jobs for day in days) == 6


@pytest.mark.parametrize("change", ["2026-03-29", "2026-10-25"])
def test_days_ahead_are_those_of_the_calendar_where_clocks_change(
    biz_type: BizType, settings: Any, change: str
) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    zone, clock = ZoneInfo("Europe/Berlin"), StandingClock()
    eve = datetime.fromisoformat(change).replace(hour=12, tzinfo=zone) - timedelta(days=2)
    clock.seconds = eve.timestamp()
    # at midnight and shortly before it, on the day before, the day of the change and two more
    midnights = [eve.replace(hour=0) + timedelta(days=number) for number in range(1, 5)]
    for at in midnights:
        store_job(biz_type, next_run_at=at)
        store_job(biz_type, next_run_at=at.replace(hour=23, minute=59))

    Counter(using="default", clock=clock).look_days_ahead()

    days = read_upcoming(hours=24 * 30, seconds=86_400, now=eve)
    found = [(day.at, day.jobs) for day in days]
    assert found[:6] == [(eve.replace(hour=0), 0), *((at, 2) for at in midnights), (midnights[-1] + timedelta(1), 0)]
    assert (len(days), sum(day.jobs for day in days)) == (30, 8)


def test_what_is_ahead_no_more_goes(biz_type: BizType) -> None:
    job = store_job(biz_type, due_in=timedelta(hours=3))
    counting = counter()
    counting.look_ahead()

    Job.objects.filter(id=job.id).update(next_run_at=timezone.now() + timedelta(hours=5))
    counting.look_ahead()

    assert [bucket.jobs for bucket in read_upcoming(hours=24, seconds=300) if bucket.jobs] == [1]


def test_minutes_are_summed_into_hours_and_later_deleted(biz_type: BizType) -> None:
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    hour = now - timedelta(hours=3)
    for minutes, count in ((0, 1), (59, 2), (60, 4)):
        at = hour + timedelta(minutes=minutes)
        Pulse.objects.create(biz_type=biz_type, at=at, span_seconds=60, kind="succeeded", count=count)
    old = now - timedelta(days=3)
    Pulse.objects.create(biz_type=biz_type, at=old, span_seconds=60, kind="succeeded", count=100)
    counting = counter()

    counting.fold()
    late = Pulse.objects.get(at=hour, span_seconds=60)
    late.count += 10
    late.save()
    counting._folded = None
    counting.fold()

    points = read_series(biz_type_id=None, since=old, until=now, step_seconds=3_600)
    assert {point.at: point.succeeded for point in points if point.succeeded} == {
        old: 100,
        hour: 13,
        hour + timedelta(hours=1): 4,
    }
    assert not Pulse.objects.filter(span_seconds=60, at__lt=now - timedelta(days=2, hours=1)).exists()
    assert Pulse.objects.filter(span_seconds=600).exists()


def test_the_longer_a_count_takes_the_rarer_it_is(db: None) -> None:
    clock = StandingClock()
    counting = Counter(using="default", clock=clock)
    took = iter([0.1, 3.0, 0.1])
    began: list[float] = []

    def slow() -> None:
        began.append(clock.seconds)
        clock.seconds += next(took)

    counting._work, counting._due = [(slow, 10.0)], [0.0]
    for _ in range(3):
        wait = counting.run_once()
        clock.seconds = round(clock.seconds + wait, 3)

    first, second, third = began
    assert second - first == pytest.approx(10.0)
    assert third - second == pytest.approx(3.0 + 3.0 * IDLE_SHARE)


def test_a_count_that_fails_is_not_tried_at_once(db: None) -> None:
    counting = Counter(using="default", clock=StandingClock())

    def fail() -> None:
        raise ZeroDivisionError

    counting._work, counting._due = [(fail, 10.0)], [0.0]
    with pytest.raises(ZeroDivisionError):
        counting.run_once()

    assert counting.run_once() == pytest.approx(10.0)


def test_counts_of_a_biz_type_that_goes_meanwhile_are_left_out(
    biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, gone = module.count_jobs(clock=timezone.now, using="default", timeout_seconds=9)
    store_job(biz_type, Status.DEAD)
    at, rows = module.count_jobs(clock=timezone.now, using="default", timeout_seconds=9)
    monkeypatch.setattr(module, "count_jobs", lambda **_: (at, [row._replace(biz_type_id=99) for row in rows]))

    counter().count()

    assert gone == []
    assert list(JobCount.objects.values_list("biz_type_id", "dead")) == [(biz_type.id, 0)]
