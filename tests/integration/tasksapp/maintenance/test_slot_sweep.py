"""Leaked slots of max_in_flight are freed soon after the lease; those of jobs that a worker has are kept."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from delayhub.clock import due_ms
from delayhub.engine import Lease, TimerLane
from tasksapp.biz_types.breaker import callback_host
from tasksapp.jobs.creation import create
from tasksapp.maintenance.loader import Loader
from tasksapp.maintenance.slot_sweep import SlotSweep
from tasksapp.models import BizType, Job, Status
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

CODE = "order.close"
#: More than the lease of a timer and the margin, in ms.
LONG_AGO_MS = 60_000


@pytest.fixture
def capped(request: pytest.FixtureRequest, make_biz_type: MakeBizType) -> BizType:
    """A biz type that runs one job at a time, in all or of each flow key."""
    return make_biz_type(CODE, **{getattr(request, "param", "max_in_flight"): 1})


@pytest.fixture
def first(capped: BizType, loader: Loader, lane: TimerLane) -> UUID:
    """The first of two due jobs, whose timer was claimed and acknowledged long ago, so that it holds the only slot."""
    for _ in range(2):
        create(CODE, flow_key="a" if capped.key_max_in_flight else "")
    loader.run_once()
    (batch,) = lane.claim(1).batches
    lane.acknowledge([Lease(lane.name, batch.queue, name, batch.token) for name in batch.ids])
    age(lane)
    assert claimed(lane) == []
    return UUID(batch.ids[0])


@pytest.fixture
def sweep(clock: RedisClock) -> Callable[[], int]:
    """A sweep that does not wait for its time: how many slots it freed."""
    clock.sync()
    return lambda: SlotSweep(using="default", clock=clock).run_once(list(BizType.objects.all()))


def age(lane: TimerLane) -> None:
    """Lets all slots of the queue be taken a minute earlier."""
    held = lane.keys.queue(CODE).in_flight
    for name in lane.client.zrange(held, 0, -1):
        lane.client.zincrby(held, -LONG_AGO_MS, name)


def claimed(lane: TimerLane) -> list[str]:
    return [name for batch in lane.claim().batches for name in batch.ids]


def refuse(*_: object) -> None:
    raise OperationalError("the database is away")


@pytest.mark.parametrize("capped", ["max_in_flight", "key_max_in_flight"], indirect=True)
@pytest.mark.heals
def test_the_slot_of_a_worker_killed_between_outcome_and_settlement_is_free_for_the_next_job(
    first: UUID, loader: Loader, lane: TimerLane
) -> None:
    claim(first)
    Job.objects.filter(id=first).update(status=Status.SUCCEEDED, lease_until=None, finished_at=timezone.now())
    loader.resign()

    Loader(using="default").run_once()

    (second,) = claimed(lane)
    assert second != str(first)


@pytest.mark.parametrize("fate", ["gone", "waits"])
@pytest.mark.heals
def test_a_slot_is_free_where_its_row_is_gone_or_waits_for_a_retry(
    first: UUID, sweep: Callable[[], int], fate: str
) -> None:
    if fate == "gone":
        Job.objects.filter(id=first).delete()
    else:
        Job.objects.filter(id=first).update(next_run_at=timezone.now() + timedelta(hours=1))

    assert sweep() == 1
    assert sweep() == 0


@pytest.mark.heals
def test_the_slot_of_a_probe_whose_worker_was_killed_is_free_although_its_biz_type_has_no_limit(
    make_biz_type: MakeBizType, loader: Loader, lane: TimerLane, sweep: Callable[[], int]
) -> None:
    biz_type = make_biz_type(CODE)
    tried_at = due_ms(timezone.now() - timedelta(seconds=1))
    lane.client.set(lane.keys.queue(CODE).breaker, f"open:{tried_at}:{callback_host(biz_type)}")
    for _ in range(2):
        create(CODE)
    loader.run_once()
    (batch,) = lane.claim(1).batches
    lane.acknowledge([Lease(lane.name, batch.queue, name, batch.token) for name in batch.ids])
    age(lane)
    assert claimed(lane) == []

    assert sweep() == 1
    assert len(claimed(lane)) == 1


@pytest.mark.parametrize("fate", [Status.RUNNING, Status.PENDING])
def test_a_job_that_runs_or_whose_message_is_under_way_keeps_its_slot(
    first: UUID, sweep: Callable[[], int], lane: TimerLane, fate: Status
) -> None:
    claim(first)
    Job.objects.filter(id=first).update(status=fate, lease_until=timezone.now() + timedelta(hours=1))

    assert sweep() == 0
    assert claimed(lane) == []


def test_a_job_whose_timer_a_worker_holds_keeps_its_slot(
    make_biz_type: MakeBizType, loader: Loader, lane: TimerLane, sweep: Callable[[], int]
) -> None:
    make_biz_type(CODE, max_in_flight=1)
    create(CODE)
    loader.run_once()
    assert len(claimed(lane)) == 1
    age(lane)

    assert sweep() == 0


def test_a_slot_that_was_just_taken_is_not_looked_at(first: UUID, sweep: Callable[[], int], lane: TimerLane) -> None:
    Job.objects.filter(id=first).delete()
    lane.client.zincrby(lane.keys.queue(CODE).in_flight, LONG_AGO_MS, str(first))

    assert sweep() == 0


def test_no_slot_is_freed_while_the_database_is_away(first: UUID, lane: TimerLane, clock: RedisClock) -> None:
    clock.sync()
    biz_types = list(BizType.objects.all())
    Job.objects.filter(id=first).delete()

    with connection.execute_wrapper(refuse), pytest.raises(OperationalError):
        SlotSweep(using="default", clock=clock).run_once(biz_types)

    assert lane.client.zcard(lane.keys.queue(CODE).in_flight) == 1
