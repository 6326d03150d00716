"""What Redis knows of jobs, as Prometheus gets it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp.metrics.redis_numbers import gate_numbers, lane_numbers
from tasksapp.models import BizType, Tenant
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.metrics.samples import samples, stored_series
from tests.integration.tasksapp.stored_jobs import due
from tests.redis_time import redis_now_ms

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_lane_that_was_never_claimed_has_no_age(lane: TimerLane) -> None:
    assert samples(lane_numbers()) == {("delayhub_loader_seated",): 0}


def test_the_loaders_seat_and_the_last_claim(lane: TimerLane) -> None:
    lane.hold("a loader", lease_ms=60_000)
    lane.client.set(lane.keys.claimed, int(redis_now_ms(lane.client)) - 30_000)

    found = samples(lane_numbers())

    assert found["delayhub_loader_seated",] == 1
    assert 30 <= found["delayhub_lane_claim_age_seconds", "delayhub.timers"] < 35


def test_due_timers_wait_at_the_gate_until_a_worker_takes_them(biz_type: BizType, lane: TimerLane) -> None:
    due()
    due()
    due(delay=600)
    ours = ("default", "order.close")
    assert samples(gate_numbers(stored_series()))["delayhub_gate_waiting", *ours] == 2

    lane.claim(1)

    assert samples(gate_numbers(stored_series()))["delayhub_gate_waiting", *ours] == 1


def test_a_code_of_another_tenant_and_a_changed_one_keep_their_timers(
    biz_type: BizType, make_biz_type: MakeBizType, lane: TimerLane
) -> None:
    make_biz_type(biz_type.code, tenant=Tenant.objects.create(code="acme"))
    due()
    BizType.objects.filter(pk=biz_type.pk).update(code="order.closed")

    found = samples(gate_numbers(stored_series()))

    assert found["delayhub_gate_waiting", "default", "order.closed"] == 1
    assert found["delayhub_gate_waiting", "acme", "order.close"] == 0


def test_slots_are_shown_where_there_is_a_limit(biz_type: BizType, make_biz_type: MakeBizType, lane: TimerLane) -> None:
    make_biz_type("order.slow", max_in_flight=3)

    found = samples(gate_numbers(stored_series()))

    assert found["delayhub_gate_slots", "default", "order.slow"] == 3
    assert found["delayhub_gate_slots_held", "default", "order.slow"] == 0
    assert ("delayhub_gate_slots", "default", "order.close") not in found


def test_paused_biz_types_and_open_breakers_are_flagged(
    biz_type: BizType, make_biz_type: MakeBizType, lane: TimerLane
) -> None:
    make_biz_type("order.paused", paused_until=timezone.now() + timedelta(hours=1))
    until = int(redis_now_ms(lane.client)) + 30_000
    lane.client.set(lane.keys.queue(biz_type.queue).breaker, f"open:{until}:shop.example")

    found = samples(gate_numbers(stored_series()))

    assert found["delayhub_biz_type_shut", "default", "order.paused"] == 1
    assert found["delayhub_biz_type_shut", "default", "order.close"] == 0
    assert found["delayhub_breaker_open", "default", "order.close"] == 1
    assert found["delayhub_breaker_open", "default", "order.paused"] == 0
