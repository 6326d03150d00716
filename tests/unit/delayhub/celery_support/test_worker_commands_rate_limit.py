"""The worker's command that sets a limit for all workers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery import Celery
from celery.worker.control import Panel

from delayhub.celery_support import worker_commands
from delayhub.celery_support.control import Control
from delayhub.celery_support.worker_commands import rate_limit_for_all, register


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What Celery's own command was asked, in place of doing it."""
    seen: list[Any] = []

    def celerys(state: Any, task_name: str, rate_limit: Any) -> dict[str, str]:
        seen.append((task_name, rate_limit))
        return {"ok": "limited"}

    monkeypatch.setitem(worker_commands.CELERYS, "rate_limit", celerys)
    return seen


@pytest.fixture
def state() -> Any:
    app = Celery("shop", set_as_current=False)
    app.control = Control(app)
    return SimpleNamespace(app=app, hostname="w@here")


def test_workers_have_our_command_once_an_app_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Panel, "data", dict(Panel.data))

    register()

    assert Panel.data["rate_limit"] is rate_limit_for_all


def test_a_limit_that_only_the_worker_knows_of_is_set_for_all(
    state: Any, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Any] = []
    monkeypatch.setattr(Control, "set_rate_limit", lambda self, task, rate, *, by: done.append((task, rate, by)))

    assert rate_limit_for_all(state, "shop.add", "5/s") == {"ok": "limited"}
    assert rate_limit_for_all(state, "shop.add", "6/s", is_set=True) == {"ok": "limited"}

    assert done == [("shop.add", "5/s", "a program, through w@here")]
    assert asked == [("shop.add", "5/s"), ("shop.add", "6/s")]


@pytest.mark.parametrize("error", [redis.ConnectionError("gone"), ValueError("no rate")])
def test_a_limit_that_could_not_be_set_is_said(
    state: Any, asked: list[Any], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(self: Control, task: str, rate: Any, *, by: str) -> None:
        raise error

    monkeypatch.setattr(Control, "set_rate_limit", fail)

    assert "not set" in rate_limit_for_all(state, "shop.add", "5/s")["error"]
    assert asked == []
