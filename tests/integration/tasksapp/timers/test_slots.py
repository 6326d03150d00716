"""The slots of max_in_flight: freed at once, or as soon as Redis answers again, and never those of a later claim."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis
from django.utils import timezone

from delayhub.engine import Gate, TimerLane
from delayhub.local.redis_server import RedisServer
from delayhub.testing import without_timers
from tasksapp.models.job_id import new_job_id
from tasksapp.timers import arming, slots
from tasksapp.timers.slots import HeldSlots, held_slots, settle
from tasksapp.timers.timer import Timer, grouped
from tests.integration.tasksapp.stalled_redis import stalled
from tests.redis_time import redis_now_ms
from tests.waiting import wait_until

MINUTE = timedelta(minutes=1)
CODE = "order.close"


def due_timers(lane: TimerLane, count: int) -> list[Timer]:
    """So many timers that are due, of a queue with one slot."""
    lane.set_gate(CODE, Gate(max_in_flight=1))
    made = [Timer("delayhub.timers", CODE, new_job_id(), timezone.now() - MINUTE, 5) for _ in range(count)]
    arming.arm(grouped(made))
    return made


def claimed(lane: TimerLane) -> list[str]:
    return [job_id for batch in lane.claim().batches for job_id in batch.ids]


def in_flight(lane: TimerLane) -> int:
    return lane.client.zcard(lane.keys.queue(CODE).in_flight)


def test_a_settled_job_frees_its_slot(lane: TimerLane, redis_client: redis.Redis) -> None:
    first, second = due_timers(lane, 2)
    assert claimed(lane) == [str(first.job_id)]
    assert claimed(lane) == []

    settle(first.lane, CODE, [first.job_id], ended_ms=redis_now_ms(redis_client))

    assert claimed(lane) == [str(second.job_id)]
    assert len(held_slots) == 0


def test_a_slot_that_redis_did_not_free_in_time_is_free_soon_after_it_answers(
    lane: TimerLane, redis_client: redis.Redis, redis_server: RedisServer, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "ARM_TIMEOUT_SECONDS": 0.3}
    first, second = due_timers(lane, 2)
    assert claimed(lane) == [str(first.job_id)]
    ended_ms = redis_now_ms(redis_client)

    with stalled(redis_server):
        settle(first.lane, CODE, [first.job_id], ended_ms=ended_ms)
        assert len(held_slots) == 1

    wait_until(lambda: in_flight(lane) == 0)
    assert claimed(lane) == [str(second.job_id)]
    wait_until(lambda: len(held_slots) == 0)


def test_a_slot_that_is_freed_late_stays_with_the_next_attempt(lane: TimerLane, redis_client: redis.Redis) -> None:
    (timer,) = due_timers(lane, 1)
    claimed(lane)
    ended_ms = redis_now_ms(redis_client) - 1_000
    kept = HeldSlots()
    kept.keep(slots.Held(timer.lane, CODE, [str(timer.job_id)], ended_ms, kept_at=0.0))

    assert kept.free()

    assert in_flight(lane) == 1


def test_at_most_so_many_slots_are_kept(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(slots, "MOST_KEPT", 3)
    kept = HeldSlots()

    for _ in range(2):
        kept.keep(slots.Held("delayhub.timers", CODE, ["1", "2"], 0, kept_at=0.0))

    assert len(kept) == 2
    assert "until these expire" in caplog.text


def test_what_is_kept_ends_when_its_slots_have_expired(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}
    kept = HeldSlots()
    kept.keep(slots.Held("delayhub.timers", CODE, ["1"], 0, kept_at=-900.0))

    assert kept.free()
    assert len(kept) == 0


def test_while_a_test_keeps_redis_out_nothing_is_kept() -> None:
    with without_timers():
        settle("delayhub.timers", CODE, [new_job_id()], ended_ms=0)

    assert len(held_slots) == 0
