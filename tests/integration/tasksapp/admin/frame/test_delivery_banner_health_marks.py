"""The parts of the system, in words."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from django.test import RequestFactory

from delayhub.engine import TimerLane
from tasksapp.admin.frame.delivery_banner import mark_of, marks
from tasksapp.queues.heartbeats import Beat, write_beat
from tasksapp.stats.delivery_health import DeliveryHealth, DeliveryState, delivery_health
from tests.redis_time import redis_now_ms

pytestmark = pytest.mark.django_db


def beat(client: redis.Redis, name: str, **fields: Any) -> None:
    now = redis_now_ms(client)
    write_beat(client, Beat(name=name, host=name, pid=1, queues=("delayhub.timers",), seen_ms=now, **fields))


def test_all_is_well_with_workers_and_a_loader(lane: TimerLane, redis_client: redis.Redis) -> None:
    lane.hold("a loader", lease_ms=60_000)
    lane.claim()
    beat(redis_client, "w1", is_loader=True)
    beat(redis_client, "w2")

    found = marks(delivery_health())

    assert [mark.text for mark in found] == ["Redis answers", "Database answers", "2 workers", "Loader on w1"]
    assert {mark.tone for mark in found} == {"good"}
    assert mark_of(RequestFactory().get("/")).text == "Delivering"


def test_without_a_worker_there_is_neither_worker_nor_loader() -> None:
    found = marks(delivery_health())

    assert [(mark.text, mark.tone) for mark in found[2:]] == [("No worker", "bad"), ("No loader", "warning")]
    assert mark_of(RequestFactory().get("/")).text == "Not delivering"


def test_a_redis_that_is_away_is_not_asked_again(settings: Any) -> None:
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}

    found = marks(delivery_health())

    assert [mark.text for mark in found] == ["Redis does not answer", "Database answers"]


def test_a_loader_that_fails_is_bad_and_makes_jobs_late(redis_client: redis.Redis) -> None:
    beat(redis_client, "w1", is_loader=True)
    request = RequestFactory().get("/")
    request._delayhub_health = DeliveryHealth(state=DeliveryState.LOADER_FAILS)  # type: ignore[attr-defined]  # kept so

    assert marks(request._delayhub_health)[-1].text == "Loader on w1 fails"  # type: ignore[attr-defined]  # the same
    assert mark_of(request).text == "Jobs may be late"
