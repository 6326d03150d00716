"""Gates follow the rows of biz types: with the commit, and never back; one that is not known is shut."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis
from django.db import transaction
from django.utils import timezone

from delayhub.clock import due_ms
from delayhub.engine import Gate, Revision, TimerLane, read_gates
from delayhub.transport.timer_queue import TimerQueue
from tasksapp.biz_types import flow_keys, gates, verbs
from tasksapp.biz_types.breaker import Breaker, breakers_of
from tasksapp.biz_types.failure_counter import FailureCounter
from tasksapp.biz_types.gates import bring_gates, gate_queues, is_in_force, revision_of
from tasksapp.jobs.creation import JobRequest, create_many
from tasksapp.maintenance.loader import Loader
from tasksapp.models import BizType, Job
from tasksapp.tasks import deliver
from tasksapp.timers import lanes
from tasksapp.timers.fitness import TIMER_TASK
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)

CODE = "order.close"


def make_jobs(count: int, **fields: Any) -> None:
    """So many jobs that are due, by one call."""
    create_many([JobRequest(biz_type=CODE, **fields) for _ in range(count)])


def claimed(lane: TimerLane) -> list[str]:
    """What a worker takes."""
    claim = lane.claim(needs_gates=True)
    return [job_id for batch in claim.batches for job_id in batch.ids]


def field_of(lane: TimerLane, name: str, *, queue: str = CODE) -> int | None:
    """A number of the gate."""
    found: Any = lane.client.hget(lane.keys.queue(queue).gate, name)
    return None if found is None else int(found)


@pytest.mark.parametrize(
    ("limits", "first"),
    [
        ({"max_in_flight": 3}, 3),
        ({"delivery_rate": 0.1, "delivery_burst": 2}, 2),
        ({"key_max_in_flight": 4}, 4),
        ({"key_rate": 0.1, "key_burst": 5}, 5),
        ({"paused_until": timezone.now() + timedelta(days=1)}, 0),
        # a biz type without any limit
        ({}, 15),
    ],
)
def test_limits_of_a_new_biz_type_hold_from_its_first_job_on(
    make_biz_type: MakeBizType, lane: TimerLane, limits: dict[str, Any], first: int
) -> None:
    make_biz_type(CODE, **limits)
    make_jobs(15, flow_key="customer-7" if "key_rate" in limits or "key_max_in_flight" in limits else "")

    assert len(claimed(lane)) == first


def test_a_change_holds_with_its_commit_and_not_before(biz_type: BizType, lane: TimerLane) -> None:
    with transaction.atomic():
        biz_type.max_in_flight = 2
        biz_type.save()
        assert field_of(lane, "max_in_flight") is None

    assert field_of(lane, "max_in_flight") == 2


def test_a_lower_limit_holds_amid_a_drain(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    kind = make_biz_type(CODE, max_in_flight=10)
    make_jobs(30)
    running = claimed(lane)

    kind.max_in_flight = 2
    kind.save()

    lane.settle(CODE, running[:8])
    assert (len(running), claimed(lane)) == (10, [])
    lane.settle(CODE, running[8:9])
    assert len(claimed(lane)) == 1


def test_what_somebody_else_changed_meanwhile_is_in_the_gate_too(biz_type: BizType, lane: TimerLane) -> None:
    theirs = BizType.objects.get(pk=biz_type.pk)
    theirs.max_in_flight = 2
    verbs.edit(theirs, ["max_in_flight"])

    biz_type.weight = 7
    verbs.edit(biz_type, ["weight"])

    assert (field_of(lane, "max_in_flight"), field_of(lane, "weight")) == (2, 7)


def test_a_late_writer_does_not_bring_an_old_gate_back(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    kind = make_biz_type(CODE, max_in_flight=10)
    late = BizType.objects.get(pk=kind.pk)
    kind.max_in_flight = 2
    kind.save()

    assert bring_gates([late], now=timezone.now()) == 0

    assert field_of(lane, "max_in_flight") == 2


def test_an_update_of_many_rows_reaches_the_gate_by_the_loader(biz_type: BizType, lane: TimerLane) -> None:
    BizType.objects.update(max_in_flight=3)

    assert Loader(using="default").run_once().held

    assert field_of(lane, "max_in_flight") == 3


def test_the_loader_reads_what_is_there_and_writes_what_differs(biz_type: BizType, lane: TimerLane) -> None:
    biz_type.refresh_from_db()
    assert bring_gates([biz_type], now=timezone.now()) == 0
    lane.client.hset(lane.keys.queue(CODE).gate, "max_in_flight", 50)  # as a Redis that has gone back

    assert bring_gates([biz_type], now=timezone.now()) == 1

    assert field_of(lane, "max_in_flight") is None


@pytest.mark.parametrize("lost", ["everything", "the gate"])
def test_a_gate_that_was_lost_is_shut_until_a_worker_writes_it_from_the_row(
    make_biz_type: MakeBizType, lane: TimerLane, redis_client: redis.Redis, lost: str, ends_delivery: None
) -> None:
    kind = make_biz_type(CODE, max_in_flight=3)
    flow_keys.pause_key(kind, "customer-7")
    if lost == "everything":
        redis_client.flushall()
    make_jobs(15)
    make_jobs(5, flow_key="customer-7")
    if lost == "the gate":
        redis_client.delete(lane.keys.queue(CODE).gate, lane.keys.queue(CODE).paused)

    asks = TimerQueue(TIMER_TASK, batch=100).needs_gates  # as the claims of a worker do
    claim = lane.claim(needs_gates=asks)
    assert (claim.batches, claim.ungated) == ([], [CODE])
    # It is on the agenda still: the next claim says so again.
    assert claim.come_back_ms is not None
    assert claim.come_back_ms - claim.now_ms <= 1000
    deliver([], lane=lane.name, now_ms=claim.now_ms, ungated=claim.ungated)

    taken = lane.claim(needs_gates=True)
    assert (len(taken.batches[0].ids), taken.ungated) == (3, [])
    lane.settle(CODE, taken.batches[0].ids)
    assert read_gates(lane, [CODE])[0].paused.keys() == {"customer-7"}


def test_timers_of_a_biz_type_that_was_deleted_are_not_held_for_good(biz_type: BizType, lane: TimerLane) -> None:
    make_jobs(1)
    lane.client.delete(lane.keys.queue(CODE).gate)
    Job.objects.all().delete()
    biz_type.delete()

    gate_queues(lane, lane.claim(needs_gates=True).ungated, now=timezone.now(), using="default")

    assert len(claimed(lane)) == 1


def test_a_new_biz_type_of_a_code_that_was_there_before_has_its_own_limits_at_once(
    make_biz_type: MakeBizType, lane: TimerLane
) -> None:
    former = make_biz_type(CODE, max_in_flight=10)
    for _ in range(5):
        former.save()
    former.delete()

    make_biz_type(CODE, max_in_flight=2)
    make_jobs(15)

    assert len(claimed(lane)) == 2


def test_after_a_restore_of_the_database_the_row_counts_though_it_is_older(
    make_biz_type: MakeBizType, lane: TimerLane
) -> None:
    kind = make_biz_type(CODE, max_in_flight=2)
    lane.set_gate(CODE, Gate(max_in_flight=50), revision=Revision(kind.pk, 57))

    assert Loader(using="default").run_once().held

    assert field_of(lane, "max_in_flight") == 2


def test_a_change_while_redis_is_away_is_not_in_force_until_it_is_back(
    make_biz_type: MakeBizType, lane: TimerLane, settings: Any
) -> None:
    kind = make_biz_type(CODE, max_in_flight=10)
    kind.refresh_from_db()
    assert is_in_force(kind)
    there = settings.DELAYHUB

    settings.DELAYHUB = {**there, "REDIS_URL": "redis://127.0.0.1:1/0"}
    kind.max_in_flight = 2
    kind.save()
    kind.refresh_from_db()
    assert not is_in_force(kind)
    settings.DELAYHUB = there
    lanes.try_again()
    assert not is_in_force(kind)

    assert Loader(using="default").run_once().held
    assert is_in_force(kind)
    assert revision_of(kind) == read_gates(lane, [CODE])[0].revision


def test_a_key_that_was_resumed_by_one_while_another_paused_it_late_is_as_its_row(
    biz_type: BizType, lane: TimerLane
) -> None:
    flow_keys.pause_key(biz_type, "customer-7")
    flow_keys.resume_key(biz_type, "customer-7")
    # The process that paused it was slow to say so.
    lane.pause_keys(CODE, {"customer-7": 4_102_444_800_000})

    assert Loader(using="default").run_once().held

    assert read_gates(lane, [CODE])[0].paused == {}


def open_breaker(biz_type: BizType, settings: Any) -> None:
    """Does what a worker does whose callback has found the receiver down."""
    settings.DELAYHUB = {**settings.DELAYHUB, "BREAKER_FAILURES": 1}
    FailureCounter().record(biz_type, failed=1, succeeded=False, now_ms=due_ms(timezone.now()))


def test_a_breaker_that_opens_while_gates_are_brought_stays_open(
    biz_type: BizType, lane: TimerLane, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    biz_type.refresh_from_db()

    def read_and_open(*read: Any) -> dict[str, Breaker]:
        """Another process opens it just after this one has read that it is closed."""
        monkeypatch.setattr(gates, "breakers_of", breakers_of)
        found = breakers_of(*read)
        open_breaker(biz_type, settings)
        return found

    monkeypatch.setattr(gates, "breakers_of", read_and_open)
    bring_gates([biz_type], now=timezone.now())

    make_jobs(1)
    assert (claimed(lane), field_of(lane, "max_in_flight")) == ([], 1)


def test_a_breaker_that_cannot_be_read_is_not_taken_for_a_closed_one(
    biz_type: BizType, lane: TimerLane, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    biz_type.refresh_from_db()
    open_breaker(biz_type, settings)

    def silent(*_: Any) -> None:
        raise redis.TimeoutError

    with monkeypatch.context() as patched:
        patched.setattr(lane.client, "mget", silent)
        with pytest.raises(redis.TimeoutError):
            bring_gates([biz_type], now=timezone.now(), lanes=lambda _: lane)

    assert field_of(lane, "max_in_flight") == 1
