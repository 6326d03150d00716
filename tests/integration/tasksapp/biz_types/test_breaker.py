"""The breaker of a biz type and its host: shut for all workers, no attempts used, one probe, a ramp."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from delayhub.engine import SystemClock, TimerLane
from tasksapp.biz_types.failure_counter import FailureCounter
from tasksapp.jobs.creation import JobRequest, create, create_many
from tasksapp.maintenance.loader import Loader
from tasksapp.models import BizType, Job, Status
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.delivery_runtime import close_delivery_runtime, delivery_runtime
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver, answering

pytestmark = pytest.mark.django_db(transaction=True)

FAILURES = 3


@pytest.fixture(autouse=True)
def _brittle(settings: Any, _private_redis: None) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "BREAKER_FAILURES": FAILURES, "BREAKER_SECONDS": 1}


@pytest.fixture
def down(make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, lane: TimerLane) -> BizType:
    """A biz type whose receiver is down, and whose breaker is open."""
    made = make_biz_type("down", url=receiver.url(), backoff_min_seconds=0, jitter=0)
    receiver.answer = answering(503)
    create_many([JobRequest(biz_type="down") for _ in range(FAILURES)])
    assert len(fire()) == FAILURES
    return made


@pytest.fixture
def healthy() -> Iterator[Receiver]:
    with Receiver() as started:
        yield started


def state_of(lane: TimerLane) -> bytes:
    state = lane.client.get(lane.keys.queue("down").breaker)
    assert isinstance(state, bytes)
    return state


def until_gate_opens(lane: TimerLane) -> None:
    """Returns when the breaker's pause is over."""
    until = int(state_of(lane).split(b":")[1])
    deadline = SystemClock().monotonic() + 10
    while delivery_runtime().clock.now_ms() <= until:
        assert SystemClock().monotonic() < deadline
        threading.Event().wait(0.02)


def test_it_opens_without_using_attempts_probes_with_one_job_and_heals(
    down: BizType, receiver: Receiver, fire: Fire, lane: TimerLane
) -> None:
    # open: nothing passes, no attempt is used
    waiting = create("down").job_id
    assert fire() == []
    assert Job.objects.get(id=waiting).attempts == 0

    # its time is over: one job at a time, and a failure opens it again
    until_gate_opens(lane)
    assert len(fire()) == 1
    assert fire() == []

    # a success heals it
    receiver.answer = answering(200)
    until_gate_opens(lane)
    assert len(fire()) == 1
    assert len(fire()) == FAILURES
    assert set(Job.objects.values_list("status", flat=True)) == {Status.SUCCEEDED}
    assert Loader(using="default").run_once().held
    assert state_of(lane).startswith(b"healed:")


def test_what_waited_meanwhile_goes_out_along_a_ramp(
    down: BizType, receiver: Receiver, fire: Fire, lane: TimerLane
) -> None:
    create_many([JobRequest(biz_type="down") for _ in range(90)])
    receiver.answer = answering(200)
    until_gate_opens(lane)
    assert len(fire()) == 1

    Loader(using="default").run_once()

    # fifty a second at first, a tenth of that at once
    assert 1 <= len(fire()) < 50


def test_it_outlives_the_worker_that_opened_it(down: BizType, fire: Fire, lane: TimerLane) -> None:
    close_delivery_runtime()
    Loader(using="default").run_once()

    assert fire() == []
    until_gate_opens(lane)
    # The next worker has counted no failure yet; its probe's is enough.
    assert len(fire()) == 1
    assert fire() == []


def test_one_worker_shuts_the_gate_for_all_and_another_heals_it(
    make_biz_type: MakeBizType, lane: TimerLane, redis_client: redis.Redis
) -> None:
    biz_type = make_biz_type("down")
    create("down")
    clock = RedisClock(client)
    clock.sync()
    one, other = FailureCounter(), FailureCounter()

    assert one.record(biz_type, failed=FAILURES, succeeded=False, now_ms=clock.now_ms())
    assert lane.claim().batches == []
    assert not other.record(biz_type, failed=0, succeeded=True, now_ms=clock.now_ms())

    assert len(lane.claim().batches) == 1


def test_another_host_begins_with_a_closed_breaker(
    down: BizType, healthy: Receiver, fire: Fire, lane: TimerLane
) -> None:
    loader = Loader(using="default")
    loader.run_once()
    assert fire() == []

    down.url = healthy.url()
    down.save()
    loader.run_once()

    assert len(fire()) == FAILURES
    assert set(Job.objects.values_list("status", flat=True)) == {Status.SUCCEEDED}


def test_failures_of_the_former_host_do_not_shut_the_gate_of_the_new_one(
    make_biz_type: MakeBizType, lane: TimerLane
) -> None:
    before = make_biz_type("down", url="https://old.example/hook")
    BizType.objects.update(url="https://new.example/hook")
    create("down")

    assert not FailureCounter().record(before, failed=FAILURES, succeeded=False, now_ms=RedisClock(client).now_ms())

    assert len(lane.claim().batches) == 1


def test_another_biz_type_of_the_same_host_goes_on(
    down: BizType, make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    make_biz_type("beside", url=receiver.url("/beside"))
    receiver.answer = answering(200)
    create("beside")

    assert len(fire()) == 1
    assert Job.objects.get(biz_type__code="beside").status == Status.SUCCEEDED
