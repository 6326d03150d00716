"""The worker's commands that revoke tasks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery import Celery
from celery.worker.control import Panel

from delayhub.celery_support import worker_commands
from delayhub.celery_support.control import Control
from delayhub.celery_support.worker_commands import register, revoke_for_good


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What Celery's own command was asked, in place of doing it."""
    seen: list[Any] = []

    def celerys(state: Any, **asked: Any) -> dict[str, str]:
        seen.append(asked)
        return {"ok": "flagged"}

    monkeypatch.setitem(worker_commands.CELERYS, "revoke", celerys)
    return seen


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Any:
    app = Celery("shop", set_as_current=False)
    app.control = Control(app)
    return SimpleNamespace(app=app)


def test_workers_have_our_commands_once_an_app_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Panel, "data", dict(Panel.data))

    register()
    register()

    assert [Panel.data[name].args for name in ("revoke", "terminate")] == [("revoke",), ("terminate",)]


def test_celerys_own_command_gets_all_that_was_asked(
    state: Any, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[Any] = []
    monkeypatch.setattr(Control, "revoke_waiting", lambda self, ids: removed.extend(ids))

    answer = revoke_for_good("revoke", state, task_id="t", terminate=True, signal="SIGKILL")

    assert (answer, removed) == ({"ok": "flagged"}, ["t"])
    assert asked == [{"task_id": "t", "terminate": True, "signal": "SIGKILL"}]


def test_a_redis_that_does_not_answer_is_said_and_celerys_own_command_runs_all_the_same(
    state: Any, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(self: Control, ids: list[str]) -> int:
        raise redis.ConnectionError("away")

    monkeypatch.setattr(Control, "revoke_waiting", away)

    answer = revoke_for_good("revoke", state, task_id=["t"])

    assert "may still wait in Redis" in answer["error"]
    assert asked == [{"task_id": ["t"]}]


def test_an_app_without_our_control_is_served_as_before(asked: list[Any]) -> None:
    other = SimpleNamespace(app=Celery("other", set_as_current=False))

    assert revoke_for_good("revoke", other, task_id="t") == {"ok": "flagged"}
