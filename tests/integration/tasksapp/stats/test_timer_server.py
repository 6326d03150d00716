"""What Redis and the database say of those who work with timers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis
from django.db.models.functions import Now

from delayhub.engine import TimerLane
from tasksapp.models import LoaderReport
from tasksapp.stats.timer_server import ask_redis, loaders_seen, look_at_timers
from tests.redis_time import redis_now_ms


def test_an_empty_redis_knows_of_nobody(lane: TimerLane) -> None:
    found = look_at_timers()

    assert (found.claimed, found.epoch, found.has_loader) == ({lane.name: None}, None, False)


def test_it_says_when_each_lane_was_asked_and_whether_a_loader_has_the_seat(lane: TimerLane) -> None:
    lane.hold("a loader", lease_ms=60_000)
    lane.client.set(lane.keys.epoch, "here")
    lane.client.set(lane.keys.claimed, int(redis_now_ms(lane.client)) - 7_000)

    found = look_at_timers()

    claimed_at = found.claimed[lane.name]
    assert claimed_at is not None
    assert timedelta(seconds=7) <= found.now - claimed_at < timedelta(seconds=60)
    assert (found.epoch, found.has_loader) == ("here", True)


def test_a_redis_that_is_away_gives_no_sign_of_life(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}

    with pytest.raises(redis.ConnectionError):
        ask_redis()


@pytest.mark.django_db
def test_reports_of_loaders_come_newest_first_with_their_age() -> None:
    for epoch, seconds_ago in (("old", 90), ("new", 30)):
        LoaderReport.objects.create(
            epoch=epoch, redis="10.0.0.7:6379/0", worker="w1:42", seen_at=Now() - timedelta(seconds=seconds_ago)
        )

    newer, older = loaders_seen(using="default")

    assert (newer.epoch, newer.redis, newer.worker, older.epoch) == ("new", "10.0.0.7:6379/0", "w1:42", "old")
    assert timedelta(seconds=30) <= newer.age < timedelta(seconds=60) < older.age
