"""What ``manage.py check`` says of a Celery app; tests/acceptance/test_wrong_settings.py asks it in whole projects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery, _state
from kombu import Queue

import delayhub
from tasksapp.timers import celery_settings
from tasksapp.timers.celery_settings import check_celery_app, check_idle_options, check_patience, check_task_modules


def do_nothing() -> None: ...


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, current_celery: Celery) -> Iterator[Celery]:
    """The only Celery app of the process, for all threads, with DelayHub installed."""
    monkeypatch.setattr(celery_settings, "active_apps", lambda: [current_celery])
    delayhub.install(current_celery)
    current_celery.conf.broker_url = "delayhub://127.0.0.1:1/0"
    before = _state.default_app
    current_celery.set_default()
    yield current_celery
    _state.set_default_app(before)


def test_an_app_that_is_right_is_not_mentioned(app: Celery) -> None:
    assert check_celery_app(None) == []


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("accept_content", ["pickle"], "delayhub.E015"),
        ("timezone", "Mars/Phobos", "delayhub.E016"),
        ("task_always_eager", True, "delayhub.W022"),
    ],
)
def test_a_setting_that_surprises_is_reported_with_what_to_write(
    app: Celery, setting: str, value: object, expected: str
) -> None:
    app.conf[setting] = value

    (found,) = check_celery_app(None)

    assert found.id == expected
    assert found.hint


def test_a_worker_that_would_give_redis_up_is_a_warning_before_a_deployment(app: Celery) -> None:
    app.conf.broker_connection_max_retries = 100
    (found,) = check_patience(None)
    app.conf.broker_connection_max_retries = None

    assert found.id == "delayhub.W023"
    assert check_patience(None) == []


def test_another_app_on_another_broker_is_an_error_unless_each_thread_finds_the_right_one(
    app: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Celery("other", broker="redis://127.0.0.1/0", set_as_current=False)
    monkeypatch.setattr(celery_settings, "active_apps", lambda: [app, other])
    assert check_celery_app(None) == []

    other.set_default()
    (error,) = check_celery_app(None)

    assert error.id == "delayhub.E017"
    assert "'other', 'tests'" in error.msg
    other.close()


def test_a_module_of_tasks_that_raises_is_reported_and_the_check_goes_on(
    app: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ImportError("no module named stripe")

    monkeypatch.setattr(app.loader, "import_default_modules", fail)
    (warning,) = check_task_modules(None)

    assert warning.id == "delayhub.W021"
    assert "no module named stripe" in warning.msg


def test_a_worker_that_starts_imports_its_modules_once(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[bool] = []
    monkeypatch.setattr(app.loader, "import_default_modules", lambda: imported.append(True))
    monkeypatch.setattr(app.loader, "worker_initialized", True)

    assert check_task_modules(None) == []
    assert imported == []


def test_options_that_do_nothing_on_the_broker_are_a_warning_with_what_to_write(app: Celery) -> None:
    app.task(name="shop.once", unique=True, shared=False)(do_nothing)
    app.conf.task_queues = [Queue("images", queue_arguments={"x-delayhub-slots": 8})]
    assert [each.id for each in check_idle_options(None)] == ["delayhub.W028"]

    app.conf.broker_url = "memory://"

    of_task, of_queue = check_idle_options(None)
    assert (of_task.id, "unique= does nothing" in of_task.msg, bool(of_task.hint)) == ("delayhub.W027", True, True)
    assert (of_queue.id, bool(of_queue.hint)) == ("delayhub.W028", True)


def test_an_option_that_is_misspelt_is_a_warning_with_the_right_one(app: Celery) -> None:
    app.task(name="shop.once", uniqe=True, shared=False)(do_nothing)

    (found,) = check_idle_options(None)

    assert (found.id, bool(found.hint)) == ("delayhub.W029", True)
    assert "uniqe= of shop.once" in found.msg
    assert "unique=" in found.msg
