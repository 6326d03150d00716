"""What load balancers ask: alive as long as the process answers, ready as long as the database does."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery
from django.db import OperationalError, connections
from django.test import Client
from django.urls import resolve
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp.health import readiness as health
from tasksapp.sql.driver.own_thread import OwnThread
from tasksapp.stats.database_lock import TableLock
from tasksapp.stats.delivery_health import DeliveryHealth, DeliveryState
from tests.integration.delayhub.transport.sentinels import NAME, Sentinels

pytestmark = pytest.mark.django_db

OK = DeliveryState.OK


def no_database() -> None:
    raise OperationalError("the database is away")


@pytest.fixture(autouse=True)
def _nothing_was_asked(settings: Any) -> None:
    settings.DELAYHUB = {}  # timers are where the broker is
    health.readiness.forget()


def test_within_a_second_none_is_asked_again(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(health, "READY_SECONDS", 60)
    monkeypatch.setattr(health, "_ask_database", lambda: asked.append("database"))
    monkeypatch.setattr(health, "_ask_redis", lambda: asked.append("redis"))
    monkeypatch.setattr(health, "_ask_delivery", lambda: asked.append("delivery") or DeliveryHealth(state=OK))

    for _ in range(3):
        client.get("/readyz")

    assert asked == ["database", "redis", "delivery"]


@pytest.mark.django_db(transaction=True)
def test_a_probe_that_fails_is_said_and_the_next_one_asks_again(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def lost(using: str) -> None:
        raise OperationalError("the connection was lost")

    with monkeypatch.context() as patched:
        patched.setattr(health, "lock_on_jobs", lost)
        first = client.get("/readyz")
    health.readiness.forget()

    assert (first.status_code, first.json()["database"]) == (503, "away")
    assert "the connection was lost" in caplog.text
    assert client.get("/readyz").json()["database"] == "ok"


def test_a_process_without_descriptors_is_not_ready_and_says_so(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = client.get("/readyz")
    monkeypatch.setattr(health, "has_descriptors", lambda: False)
    out = client.get("/readyz")

    assert (ready.status_code, ready.json()["descriptors"]) == (200, "ok")
    assert (out.status_code, out.json()["descriptors"]) == (503, "none left")


def test_why_something_is_away_is_in_the_log_and_not_in_the_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(health, "_ask_database", no_database)

    answer = client.get("/readyz")

    assert answer.json()["database"] == "away"
    assert "OperationalError: the database is away" in caplog.text


@pytest.fixture
def lane(current_celery: Celery, broker: str, redis_client: redis.Redis) -> TimerLane:
    """The timer lane on the broker of this process' Celery app; a worker takes its timers."""
    current_celery.conf.broker_url = broker
    taken = TimerLane(redis_client, "delayhub.timers")
    taken.hold("a loader", lease_ms=60_000)
    taken.claim()
    return taken


def test_a_process_with_everything_it_needs_is_ready(client: Client, lane: TimerLane) -> None:
    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()) == (
        200,
        {"database": "ok", "redis": "ok", "delivery": "ok", "state": "ok", "descriptors": "ok"},
    )


def test_redis_is_reported_and_does_not_take_the_process_out_of_service(
    client: Client, current_celery: Celery, caplog: pytest.LogCaptureFixture
) -> None:
    current_celery.conf.broker_url = "delayhub://:hush@127.0.0.1:1/0"

    answer = client.get("/readyz")

    assert answer.status_code == 200
    assert (answer.json()["database"], answer.json()["redis"]) == ("ok", "away")
    assert answer.json()["delivery"].startswith("Redis does not answer: workers go on")
    assert "127.0.0.1:1/0" in caplog.text
    assert "hush" not in caplog.text


@pytest.mark.slow
def test_redis_is_asked_where_sentinels_say_it_is(client: Client, current_celery: Celery, tmp_path: Path) -> None:
    with Sentinels(tmp_path) as sentinels:
        current_celery.conf.broker_url = sentinels.url
        current_celery.conf.broker_transport_options = {"master_name": NAME}

        assert client.get("/readyz").json()["redis"] == "ok"


def test_that_no_job_is_delivered_is_said_and_logged_once(
    client: Client, lane: TimerLane, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(health, "READY_SECONDS", -1)
    lane.client.delete(lane.keys.claimed, lane.keys.loader)

    answers = [client.get("/readyz") for _ in range(3)]

    for answer in answers:
        assert answer.status_code == 200
        assert "no worker takes the timers of delayhub.timers" in answer.json()["delivery"]
    assert caplog.text.count("no job is delivered: no worker takes") == 1


@pytest.mark.usefixtures("lane")
def test_without_its_database_a_process_is_out_of_service(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_ask_database", no_database)

    answer = client.get("/readyz")

    assert answer.status_code == 503
    said = "no job is delivered: the database does not answer"
    found = {"database": "away", "redis": "ok", "delivery": said, "state": "database away", "descriptors": "ok"}
    assert answer.json() == found


def test_a_process_is_alive_whatever_else_is_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_ask_database", no_database)

    assert client.get("/livez").json() == {"status": "ok"}


def test_a_probe_does_not_wait_for_a_database_that_hangs(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs, asked = threading.Event(), []
    monkeypatch.setattr(health.readiness, "_thread", OwnThread("of a test"))
    monkeypatch.setattr(health, "PATIENCE_SECONDS", 0.05)
    # No statement: another thread does not see what the test's transaction holds.
    monkeypatch.setattr(health.readiness, "_ask", lambda: asked.append(1) or hangs.wait(30))

    answers = [client.get("/readyz") for _ in range(3)]
    alive = client.get("/livez")
    hangs.set()

    assert [(answer.status_code, answer.json()["database"]) for answer in answers] == [(503, "away")] * 3
    assert alive.status_code == 200
    assert asked == [1]  # the question that is under way is not asked another time
    health.readiness._under_way = None


@pytest.mark.usefixtures("lane")
def test_a_lock_on_the_jobs_is_said_and_keeps_the_process_in_service(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = TableLock(4711, timezone.now(), "psql")
    monkeypatch.setattr(health, "lock_on_jobs", lambda using: lock)

    answer = client.get("/readyz")

    assert answer.status_code == 200
    found = answer.json()
    assert (found["database"], found["redis"], found["state"]) == ("locked", "ok", "database locked")
    assert "the table of jobs is locked since" in found["delivery"]
    assert "4711" not in answer.content.decode()


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_probes_are_outside_of_a_projects_transactions(path: str) -> None:
    assert resolve(path).func._non_atomic_requests >= set(connections)  # and those of when it was first imported


def test_neither_needs_a_session_or_a_key(client: Client) -> None:
    for path in ("/livez", "/readyz"):
        assert "Set-Cookie" not in client.get(path).headers
