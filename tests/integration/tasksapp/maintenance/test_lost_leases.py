"""Rows of lost workers come back, and those of living ones never: not when the database was away, nor after a start."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
import redis
from django.db import OperationalError
from django.utils import timezone

from delayhub.engine import Lease, TimerLane
from delayhub.testing import MovableClock
from tasksapp.jobs.creation import create
from tasksapp.maintenance import lost_leases
from tasksapp.maintenance.loader import Loader, Turn
from tasksapp.models import BizType, Job, Pulse, Status
from tasksapp.sql.leases import renew_leases
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim

pytestmark = pytest.mark.django_db(transaction=True)

LEASE_SECONDS = 60.0
#: The loader's turns in these tests: so short a gap between answers is no break.
TURN_SECONDS = 20.0


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def make_loader(clock: MovableClock) -> Callable[[], Loader]:
    return lambda: Loader(using="default", clock=RedisClock(client, clock))


@pytest.fixture
def loader(make_loader: Callable[[], Loader]) -> Loader:
    return make_loader()


def lose_database_for_a_turn(loader: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as away:
        away.setattr(lost_leases, "return_lost_leases", refuse)
        with pytest.raises(OperationalError):
            loader.run_once()


def watch(loader: Loader, clock: MovableClock, seconds: float = LEASE_SECONDS) -> list[Turn]:
    """The turns of a loader that finds the database in reach for so long."""
    turns = [loader.run_once()]
    for _ in range(int(seconds / TURN_SECONDS)):
        clock.advance(seconds=TURN_SECONDS)
        turns.append(loader.run_once())
    return turns


def begin(code: str = "order.close") -> tuple[UUID, int]:
    """A job that runs, and whose lease ran out a second ago: its id and token."""
    job_id = create(code).job_id
    answer = claim(job_id)
    assert len(answer.claimed) == 1
    Job.objects.filter(id=job_id).update(lease_until=timezone.now() - timedelta(seconds=1))
    return job_id, answer.token


def refuse(*_: object, **__: object) -> None:
    raise OperationalError("the database is away")


def test_rows_of_a_lost_worker_come_back(
    biz_type: BizType, loader: Loader, clock: MovableClock, lane: TimerLane
) -> None:
    job_id, _ = begin()
    claim = lane.claim()
    lane.acknowledge([Lease(lane.name, b.queue, i, b.token) for b in claim.batches for i in b.ids])

    turns = watch(loader, clock)

    assert [turn.returned for turn in turns] == [0, 0, 0, 1]
    job = Job.objects.get()
    assert (job.status, job.attempts, job.system_errors) == (Status.PENDING, 0, 1)
    assert lane.claim().batches[0].ids == [str(job_id)]


def test_a_loader_that_starts_as_the_database_comes_back_kills_no_job_that_may_run_once(
    make_biz_type: MakeBizType, loader: Loader, clock: MovableClock
) -> None:
    make_biz_type("charge", guarantee=BizType.Guarantee.AT_MOST_ONCE)
    job_id, token = begin("charge")

    assert loader.run_once().returned == 0
    # its worker lives, and renews as soon as it can
    assert renew_leases([(job_id, token, timezone.now() + timedelta(minutes=5))], using="default") == {job_id}

    assert [turn.returned for turn in watch(loader, clock)] == [0, 0, 0, 0]
    assert Job.objects.get().status == Status.RUNNING


def test_after_the_database_was_away_leases_get_their_full_time(
    biz_type: BizType, loader: Loader, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(loader, clock)
    begin()

    lose_database_for_a_turn(loader, monkeypatch)

    assert [turn.returned for turn in watch(loader, clock)] == [0, 0, 0, 1]


def test_a_turn_that_hung_until_the_database_was_back_counts_as_a_break(
    biz_type: BizType, loader: Loader, clock: MovableClock
) -> None:
    watch(loader, clock)
    begin()
    clock.advance(seconds=LEASE_SECONDS)

    assert loader.run_once().returned == 0


def test_a_loader_that_takes_over_goes_by_what_the_one_before_it_saw(
    biz_type: BizType, loader: Loader, make_loader: Callable[[], Loader], clock: MovableClock
) -> None:
    watch(loader, clock)
    begin()
    loader.resign()

    assert make_loader().run_once() == Turn(held=True, reloaded=True, returned=1)


def test_what_the_one_before_it_saw_is_soon_forgotten(
    biz_type: BizType, loader: Loader, clock: MovableClock, lane: TimerLane
) -> None:
    watch(loader, clock)

    assert 0 < lane.client.pttl(lane.keys.database) <= 22_000


def test_a_loader_that_takes_over_after_a_failed_turn_waits(
    biz_type: BizType,
    loader: Loader,
    make_loader: Callable[[], Loader],
    clock: MovableClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch(loader, clock)
    begin()
    lose_database_for_a_turn(loader, monkeypatch)
    loader.resign()

    assert make_loader().run_once().returned == 0


def test_a_redis_that_forgot_everything_makes_a_new_loader_wait_and_no_old_one(
    biz_type: BizType, loader: Loader, make_loader: Callable[[], Loader], clock: MovableClock, redis_client: redis.Redis
) -> None:
    watch(loader, clock)
    begin()
    redis_client.flushall()
    other = make_loader()

    assert other.run_once().returned == 0
    other.resign()
    redis_client.delete(TimerLane(redis_client, "delayhub.timers").keys.database)
    redis_client.flushall()
    assert loader.run_once().returned == 1


def test_a_job_that_dies_with_its_worker_is_counted(
    make_biz_type: MakeBizType, biz_type: BizType, loader: Loader, clock: MovableClock
) -> None:
    once = make_biz_type("charge", guarantee=BizType.Guarantee.AT_MOST_ONCE)
    begin("charge")
    begin()

    watch(loader, clock)

    pulse = Pulse.objects.get()
    assert (pulse.biz_type, pulse.kind, pulse.key, pulse.count) == (once, "dead", "outcome_unknown", 1)
