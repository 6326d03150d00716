"""Flow keys of a biz type: counted, paused, resumed; and jobs that carry them, from creation to their timers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane, due_ms
from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.biz_types import flow_keys
from tasksapp.biz_types.gates import bring_gates, gate_of
from tasksapp.errors import InvalidJob
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.maintenance.loader import Loader
from tasksapp.models import UNTIL_RESUMED, AuditEntry, BizType, Job, PausedKey
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
ADA = Actor("ada", "192.0.2.7")
CODE = "order.close"


def made(count: int, **fields: Any) -> list[str]:
    """Jobs that are due, unless there is a delay. What is due now may be so to Redis a millisecond later."""
    if "delay" not in fields:
        fields["due_at"] = timezone.now() - timedelta(seconds=1)
    requests = [jobs.JobRequest(biz_type=CODE, **fields) for _ in range(count)]
    return [str(outcome.job_id) for outcome in jobs.create_many(requests) if isinstance(outcome, jobs.Created)]


def claimed(lane: TimerLane) -> set[str]:
    return {job_id for batch in lane.claim().batches for job_id in batch.ids}


def test_a_job_keeps_its_key_and_its_timer_waits_with_it(biz_type: BizType, lane: TimerLane) -> None:
    (job_id,) = made(1, flow_key="customer-7", delay=60)
    made(1, delay=60)

    job = Job.objects.get(id=job_id)

    assert job.flow_key == "customer-7"
    assert lane.look(CODE, [job_id], key="customer-7") == [due_ms(job.next_run_at)]
    assert list(JobFilter(flow_key="customer-7").apply(Job.objects.all())) == [job]


@pytest.mark.parametrize("key", ["a:b", "{a", "x" * 101, "\u00e9" * 51, "a\0b", 7])
def test_a_key_that_no_job_can_have_is_refused(biz_type: BizType, key: Any) -> None:
    with pytest.raises(InvalidJob, match="flow_key"):
        jobs.create(CODE, flow_key=key)


def test_an_edited_key_moves_the_timer(biz_type: BizType, lane: TimerLane) -> None:
    (job_id,) = made(1, flow_key="customer-7", delay=60)

    job = jobs.edit(Job.objects.get().id, flow_key="customer-8")

    assert (job.flow_key, job.version) == ("customer-8", 2)
    assert lane.look(CODE, [job_id], key="customer-7") == [None]
    assert lane.look(CODE, [job_id], key="customer-8") == [due_ms(job.next_run_at)]
    jobs.cancel(job.id)
    assert lane.count(CODE) == 0


def test_the_loader_brings_lost_timers_back_to_their_keys_once(biz_type: BizType, lane: TimerLane) -> None:
    loader = Loader(using="default")
    for key in ("customer-7", "customer-8", ""):
        made(3, flow_key=key, delay=600)
    lane.client.flushall()

    loader.run_once()
    loader.run_once()

    assert lane.count(CODE) == 9
    assert {key for key, _ in lane.waiting(CODE)} == {"", "customer-7", "customer-8"}


def test_limits_of_each_key_reach_the_gate(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    make_biz_type(CODE, key_max_in_flight=1, key_rate=1000.0, key_burst=5)
    Loader(using="default").run_once()
    for key in ("customer-7", "customer-8"):
        made(3, flow_key=key)

    assert len(claimed(lane)) == 2


def test_a_paused_key_waits_until_it_is_resumed(biz_type: BizType, lane: TimerLane) -> None:
    flow_keys.pause_key(biz_type, "customer-7", by=ADA, reason="its receiver is down")
    (held,) = made(1, flow_key="customer-7")
    (other,) = made(1, flow_key="customer-8")

    assert claimed(lane) == {other}
    assert [(one.flow_key, one.until, one.paused_by) for one in flow_keys.paused_keys(biz_type)] == [
        ("customer-7", UNTIL_RESUMED, "ada")
    ]
    assert flow_keys.resume_key(biz_type, "customer-7", by=ADA)
    assert claimed(lane) == {held}
    assert not flow_keys.resume_key(biz_type, "customer-7", by=ADA)
    verbs = list(AuditEntry.objects.order_by("id").values_list("verb", "reason"))
    assert verbs == [("biz_type.pause_key", "its receiver is down"), ("biz_type.resume_key", "")]


def test_pauses_survive_a_loss_of_redis_and_end_by_themselves(biz_type: BizType, lane: TimerLane) -> None:
    flow_keys.pause_key(biz_type, "customer-7")
    lane.client.flushall()
    bring_gates([biz_type], now=timezone.now())
    (job_id,) = made(1, flow_key="customer-7")
    assert claimed(lane) == set()

    PausedKey.objects.update(until=timezone.now() - timedelta(seconds=1))
    bring_gates([biz_type], now=timezone.now())

    assert flow_keys.paused_keys(biz_type) == []
    assert claimed(lane) == {job_id}


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_key_that_is_paused_while_the_loader_has_a_turn_stays_paused(
    biz_type: BizType, lane: TimerLane, is_lost: bool
) -> None:
    bring_gates([biz_type], now=timezone.now())
    flow_keys.pause_key(biz_type, "customer-7")
    if is_lost:
        lane.client.flushall()

    # The loader looked before.
    bring_gates([biz_type], now=timezone.now(), may_have_paused_keys=False)

    made(1, flow_key="customer-7")
    assert claimed(lane) == set()


def test_a_look_shows_the_keys_with_most_jobs(biz_type: BizType, lane: TimerLane) -> None:
    made(2, flow_key="few", delay=60)
    made(3, flow_key="many")
    made(5)

    look = flow_keys.look_at_keys(biz_type)

    assert [(each.key, each.waiting, each.due) for each in look.keys] == [("many", 3, 3), ("few", 2, 0)]
    assert look.is_whole
    assert [each.waiting for each in flow_keys.look_at_keys(biz_type, flow_key="few").keys] == [2]


def test_a_job_that_ended_frees_the_slot_of_its_key(
    make_biz_type: MakeBizType, lane: TimerLane, receiver: Receiver, fire: Fire
) -> None:
    kind = make_biz_type(CODE, url=receiver.url(), key_max_in_flight=1)
    lane.set_gate(CODE, gate_of(kind, now=timezone.now()))
    ids = made(2, flow_key="customer-7")

    fired = [fire(), fire()]

    assert sorted(fired) == sorted([each] for each in ids)
    assert len(receiver.received) == 2
    assert not lane.client.exists(lane.keys.queue(CODE).held)
