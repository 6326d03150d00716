"""What Redis holds for a job: its place, its time, its priority."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from tasksapp.models import BizType, Job
from tasksapp.timers.timer import Timer, grouped

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BIZ_TYPE = BizType(code="order.close", lane="slow")


def timer(number: int = 1, **fields: object) -> Timer:
    whole: Timer = Timer("slow", "order.close", UUID(int=number), NOW, 5)._replace(**fields)
    return whole


def test_a_rows_timer_is_in_the_lane_and_the_queue_of_its_biz_type() -> None:
    job = Job(id=UUID(int=1), next_run_at=NOW, due_at=NOW - timedelta(hours=1), priority=2)

    assert Timer.of(job, BIZ_TYPE) == Timer("slow", "order.close", UUID(int=1), NOW, 2)


def test_it_can_be_set_to_another_time_than_the_rows() -> None:
    job = Job(id=UUID(int=1), next_run_at=NOW)

    assert Timer.of(job, BIZ_TYPE, at=NOW + timedelta(hours=1)).next_run_at == NOW + timedelta(hours=1)


def test_timers_of_one_place_and_priority_travel_together_in_their_order() -> None:
    timers = [timer(3), timer(1), timer(2, priority=1), timer(4, queue="other"), timer(5, lane="fast")]
    timers.append(timer(6, flow_key="customer-7"))

    groups = grouped(timers)

    assert {place: len(group) for place, group in groups.items()} == {
        ("slow", "order.close", 5, ""): 2,
        ("slow", "order.close", 1, ""): 1,
        ("slow", "other", 5, ""): 1,
        ("fast", "order.close", 5, ""): 1,
        ("slow", "order.close", 5, "customer-7"): 1,
    }
    assert [job_id for job_id, _ in groups["slow", "order.close", 5, ""]] == [str(UUID(int=3)), str(UUID(int=1))]


def test_a_time_between_two_milliseconds_is_the_later_one() -> None:
    groups = grouped([timer(next_run_at=NOW + timedelta(microseconds=1))])

    assert groups["slow", "order.close", 5, ""] == [(str(UUID(int=1)), int(NOW.timestamp() * 1000) + 1)]
