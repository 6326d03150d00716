"""What holds a job for its flow key, and what its page says of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.biz_types import flow_keys
from tasksapp.biz_types.gates import gate_of
from tasksapp.biz_types.holds import key_hold
from tasksapp.models import BizType, Job
from tests.fixture_types import MakeBizType

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
CODE = "order.close"


def due_job(**fields: Any) -> Job:
    jobs.create(CODE, flow_key="customer-7", delay=0, **fields)
    return Job.objects.select_related("biz_type").latest("id")


def test_a_paused_key_is_said_with_who_paused_it_and_why(
    biz_type: BizType, lane: TimerLane, admin_client: Client
) -> None:
    job, now = due_job(), timezone.now()
    other = jobs.create(CODE, flow_key="customer-8", delay=0)
    flow_keys.pause_key(biz_type, "customer-7", by=Actor("ada", "192.0.2.7"), reason="its receiver is down")

    said = key_hold(job, now=now)
    page = admin_client.get(f"/admin/tasksapp/job/{job.id}/change/").content.decode()

    assert said.startswith("the flow key customer-7 of order.close is paused since 20")
    assert said.endswith(" by ada: its receiver is down")
    assert "the flow key customer-7 of order.close is paused since" in page
    assert key_hold(Job.objects.get(id=other.job_id), now=now) == ""


def test_a_pause_that_ends_by_itself_says_when(biz_type: BizType, lane: TimerLane) -> None:
    job, until = due_job(), timezone.now() + timedelta(hours=1)
    flow_keys.pause_key(biz_type, "customer-7", until=until)

    assert key_hold(job, now=timezone.now()).endswith(f", until {timezone.localtime(until):%Y-%m-%d %H:%M:%S %Z}")
    assert key_hold(job, now=until) == ""


def test_a_key_whose_slots_are_taken_says_so(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    biz_type = make_biz_type(CODE, key_max_in_flight=1)
    lane.set_gate(CODE, gate_of(biz_type, now=timezone.now()))
    first, second = due_job(), due_job()
    claimed = [job_id for batch in lane.claim().batches for job_id in batch.ids]

    waiting = second if claimed == [str(first.id)] else first

    assert len(claimed) == 1
    assert key_hold(waiting, now=timezone.now()) == (
        "the flow key customer-7 of order.close has as many jobs in flight as it may: 1"
    )


def test_a_key_that_used_up_its_rate_says_when_it_goes_on(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    biz_type = make_biz_type(CODE, key_rate=0.01)
    lane.set_gate(CODE, gate_of(biz_type, now=timezone.now()))
    first, second = due_job(), due_job()
    claimed = [job_id for batch in lane.claim().batches for job_id in batch.ids]

    waiting = second if claimed == [str(first.id)] else first
    said = key_hold(waiting, now=timezone.now())

    assert said.startswith("the flow key customer-7 of order.close may have 0.01 jobs a second, and has its next turn ")
    assert key_hold(waiting, now=waiting.next_run_at - timedelta(seconds=1)) == ""
