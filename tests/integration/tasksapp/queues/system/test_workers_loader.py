"""The sections of the loader and of the lanes."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models.functions import Now

from delayhub.engine import TimerLane
from tasksapp.models import LoaderReport
from tasksapp.queues.system.workers import lanes_section, loader_section
from tests.redis_time import redis_now_ms

pytestmark = pytest.mark.django_db


def test_a_loader_with_the_seat_says_when_it_last_had_a_turn(lane: TimerLane) -> None:
    lane.client.set(lane.keys.epoch, "e1")
    lane.hold("me", lease_ms=10_000)
    LoaderReport.objects.create(epoch="e1", redis="here", worker="w1", seen_at=Now())
    LoaderReport.objects.create(epoch="e0", redis="there", worker="w0", seen_at=Now())

    found = loader_section().as_json()

    assert found["has_seat"] is True
    assert 0 < found["seat_ends_in_ms"] <= 10_000
    assert 0 <= found["last_turn_seconds"] < 10
    assert {row["worker"]: row["is_this_redis"] for row in found["rows"]} == {"w1": True, "w0": False}
    assert found["warnings"] == []


def test_without_a_loader_that_is_said(lane: TimerLane) -> None:
    found = loader_section()

    assert found.as_json()["has_seat"] is False
    assert found.warnings == ["No loader has the seat: far jobs get no timers."]


def test_a_lane_says_what_waits_and_when_a_worker_last_asked(lane: TimerLane, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "LANES": ["delayhub.timers", "other"]}
    lane.ensure("a", [("1", redis_now_ms(lane.client) + 60_000), ("2", 1)])

    before = lanes_section().as_json()["rows"]
    lane.claim()
    after = lanes_section().as_json()["rows"]

    assert before[0] == {"name": "delayhub.timers", "asked_at": None, "waiting": 1, "due": 1, "leased": 0}
    assert after[0]["asked_at"] is not None
    assert (after[0]["due"], after[0]["leased"]) == (0, 1)
    assert before[1]["name"] == "other"
