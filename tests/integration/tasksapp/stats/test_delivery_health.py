"""Delivery health: each reason why no job is delivered has a sentence of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis
from django.db import OperationalError, connection
from django.db.models.functions import Now

from delayhub.engine import TimerLane
from delayhub.local.redis_server import RedisServer
from tasksapp.models import LoaderReport
from tasksapp.stats.delivery_health import DeliveryState, delivery_health
from tests.redis_time import redis_now_ms

pytestmark = pytest.mark.django_db

MINUTE_MS = 60_000


def claimed(lane: TimerLane, *, ms_ago: float = 0) -> None:
    lane.client.set(lane.keys.claimed, int(redis_now_ms(lane.client) - ms_ago))


def seated(lane: TimerLane) -> None:
    lane.hold("a loader", lease_ms=MINUTE_MS)


def reported(epoch: str, *, seconds_ago: float = 0) -> None:
    LoaderReport.objects.create(
        epoch=epoch, redis="10.0.0.7:6379/0", worker="w1:42", seen_at=Now() - timedelta(seconds=seconds_ago)
    )


def test_while_workers_claim_and_one_has_the_loader_all_is_well(lane: TimerLane) -> None:
    seated(lane)
    lane.claim()
    lane.client.set(lane.keys.epoch, "here")
    reported("here", seconds_ago=30)  # its turn may take a while

    health = delivery_health()

    assert (health.state, str(health)) == (DeliveryState.OK, "ok")


def test_a_worker_that_starts_is_not_reported(lane: TimerLane) -> None:
    seated(lane)

    assert delivery_health().is_ok


def test_it_says_since_when_no_worker_claims(lane: TimerLane) -> None:
    seated(lane)  # a worker that was killed keeps it for some seconds
    claimed(lane, ms_ago=5_001)

    health = delivery_health()

    assert health.state is DeliveryState.NO_WORKER
    assert health.sentence.startswith("no job is delivered: no worker takes the timers of delayhub.timers since 20")
    assert "celery -A … worker" in health.sentence
    assert "hang or wait" in health.sentence


def test_a_server_without_cluster_mode_that_is_named_as_a_cluster_is_said_to_be_away(
    redis_server: RedisServer, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": f"delayhub-cluster://127.0.0.1:{redis_server.port}"}

    health = delivery_health()

    assert health.state is DeliveryState.REDIS_AWAY
    assert "correct the broker's address" in health.sentence


def test_where_no_worker_ever_came_it_names_no_time(lane: TimerLane) -> None:
    health = delivery_health()

    assert health.state is DeliveryState.NO_WORKER
    assert "since" not in health.sentence


def test_only_the_lanes_that_no_worker_takes_are_named(lane: TimerLane, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "LANES": [lane.name, "slow"]}
    seated(lane)
    claimed(lane)

    sentence = delivery_health().sentence

    assert "the timers of slow." in sentence


@pytest.mark.parametrize("ours", ["here", None])
def test_workers_on_another_redis_are_named_with_both_addresses_and_no_password(
    lane: TimerLane, settings: Any, ours: str | None
) -> None:
    url = settings.DELAYHUB["REDIS_URL"]
    if ours is not None:
        lane.client.set(lane.keys.epoch, ours)
    reported("there")
    lane.client.config_set("requirepass", "hush")
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": url.replace("redis://", "redis://:hush@")}

    try:
        health = delivery_health()
    finally:
        lane.client.config_set("requirepass", "")

    assert health.state is DeliveryState.OTHER_REDIS
    assert health.detail == f"this process: {url.removeprefix('redis://')}; worker w1:42: 10.0.0.7:6379/0"
    assert "hush" not in str(health)
    assert "10.0.0.7" not in health.sentence


def test_a_loader_that_was_elsewhere_and_is_gone_is_not_named(lane: TimerLane) -> None:
    reported("there", seconds_ago=6)

    assert delivery_health().state is DeliveryState.NO_WORKER


def test_workers_whose_slots_are_full_are_not_called_missing(lane: TimerLane) -> None:
    seated(lane)
    claimed(lane, ms_ago=MINUTE_MS)
    lane.client.set(lane.keys.epoch, "here")
    reported("here")

    health = delivery_health()

    assert health.state is DeliveryState.WORKERS_FULL
    assert "long tasks" in health.sentence


def test_workers_without_a_loader_are_reported(lane: TimerLane) -> None:
    claimed(lane)

    assert delivery_health().state is DeliveryState.NO_LOADER


@pytest.mark.parametrize(("seconds_ago", "state"), [(4, DeliveryState.OK), (9, DeliveryState.NO_LOADER)])
def test_a_seat_that_was_left_just_now_is_no_fault(lane: TimerLane, seconds_ago: float, state: DeliveryState) -> None:
    # As after a warm shutdown: until its claims are 5 seconds old, the worker seems to run, without a loader.
    claimed(lane)
    lane.client.set(lane.keys.epoch, "here")
    reported("here", seconds_ago=seconds_ago)

    assert delivery_health().state is state


def test_a_loader_whose_turns_fail_is_reported_with_its_worker(lane: TimerLane) -> None:
    seated(lane)
    claimed(lane)
    lane.client.set(lane.keys.epoch, "here")
    reported("here", seconds_ago=61)

    health = delivery_health()

    assert health.state is DeliveryState.LOADER_FAILS
    assert health.detail == "worker w1:42"


def test_without_redis_its_address_is_for_operators_only(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://:hush@127.0.0.1:1/0"}

    health = delivery_health()

    assert health.state is DeliveryState.REDIS_AWAY
    assert (health.detail, "127.0.0.1" in health.sentence) == ("127.0.0.1:1/0: ConnectionError", False)


def test_settings_that_name_no_redis_are_reported_without_their_words(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "amqp://:hush@127.0.0.1:1/0"}

    health = delivery_health()

    assert health.state is DeliveryState.SETTINGS
    assert "hush" not in str(health)


def test_without_the_database_it_says_so() -> None:
    def refuse(*_: Any) -> None:
        raise OperationalError("the database is away")

    with connection.execute_wrapper(refuse):
        assert delivery_health().state is DeliveryState.DATABASE_AWAY


def test_a_redis_that_hangs_costs_one_page_a_second_and_not_every_page(
    lane: TimerLane, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[int] = []

    def hang() -> None:
        waited.append(1)
        raise redis.TimeoutError("no answer in a second")

    monkeypatch.setattr("tasksapp.stats.delivery_health.look_at_timers", hang)
    states = [delivery_health().state for _ in range(5)]

    assert states == [DeliveryState.REDIS_AWAY] * 5
    assert len(waited) == 1
