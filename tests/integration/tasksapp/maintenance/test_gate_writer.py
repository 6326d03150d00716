"""Gates, brought in step with the biz types."""

from __future__ import annotations

import pytest

from delayhub.clock import SystemClock
from delayhub.engine import TimerLane
from tasksapp.jobs.creation import JobRequest, create_many
from tasksapp.maintenance.gate_writer import GateWriter
from tasksapp.maintenance.loader import Loader
from tasksapp.models import BizType
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_limit_of_a_biz_type_reaches_the_gate(make_biz_type: MakeBizType, loader: Loader, lane: TimerLane) -> None:
    made = make_biz_type("order.close", max_in_flight=2)
    loader.run_once()
    create_many([JobRequest(biz_type="order.close") for _ in range(5)])

    assert len(lane.claim().batches[0].ids) == 2
    BizType.objects.filter(id=made.id).update(max_in_flight=3)
    loader.run_once()
    assert len(lane.claim().batches[0].ids) == 1


def test_a_gate_is_written_where_its_biz_type_has_changed(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    both = [biz_type, make_biz_type("other")]
    writer = GateWriter(clock=SystemClock())
    assert [writer.run_once(both), writer.run_once(both)] == [2, 0]

    both[1].delivery_rate = 5.0
    both[1].save()

    assert writer.run_once(both) == 1
    assert writer.run_once(both, all_of_them=True) == 2
