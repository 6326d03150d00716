"""What load balancers ask: alive as long as the process answers, ready as long as the database does."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from delayhub.local.redis_server import RedisServer
from delayhub.project import health

pytestmark = pytest.mark.django_db


def no_database() -> None:
    raise OperationalError("the database is away")


@pytest.fixture(autouse=True)
def _nothing_was_asked() -> None:
    health.readiness.forget()


def test_within_a_second_neither_is_asked_again(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(health, "READY_SECONDS", 60)
    monkeypatch.setattr(health, "_ask_database", lambda: asked.append("database"))
    monkeypatch.setattr(health, "_ask_redis", lambda: asked.append("redis"))

    for _ in range(3):
        client.get("/readyz")

    assert asked == ["database", "redis"]


def test_why_something_is_away_is_in_the_log_and_not_in_the_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(health, "_ask_database", no_database)

    answer = client.get("/readyz")

    assert answer.json()["database"] == "away"
    assert "OperationalError: the database is away" in caplog.text


@pytest.fixture
def _redis_is_there(settings: Any, redis_server: RedisServer) -> None:
    settings.BROKER_URL = redis_server.url.replace("redis://", "delayhub://")


@pytest.mark.usefixtures("_redis_is_there")
def test_a_process_with_everything_it_needs_is_ready(client: Client) -> None:
    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()) == (200, {"database": "ok", "redis": "ok"})


@pytest.mark.parametrize(
    ("broker_url", "said"),
    [
        ("delayhub://127.0.0.1:{port}/0", "ok"),
        ("delayhub://127.0.0.1:1/0", "away"),
        # sentinels cannot be asked for what only a server answers
        ("delayhub-sentinel://127.0.0.1:{port}", "away"),
    ],
)
def test_redis_is_reported_and_does_not_take_the_process_out_of_service(
    client: Client, settings: Any, redis_server: RedisServer, broker_url: str, said: str
) -> None:
    settings.BROKER_URL = broker_url.format(port=redis_server.port)

    answer = client.get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {"database": "ok", "redis": said}


@pytest.mark.usefixtures("_redis_is_there")
def test_without_its_database_a_process_is_out_of_service(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_ask_database", no_database)

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()) == (503, {"database": "away", "redis": "ok"})


def test_a_process_is_alive_whatever_else_is_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_ask_database", no_database)

    assert client.get("/healthz").json() == {"status": "ok"}


def test_neither_needs_a_session_or_a_key(client: Client) -> None:
    for path in ("/healthz", "/readyz"):
        assert "Set-Cookie" not in client.get(path).headers
