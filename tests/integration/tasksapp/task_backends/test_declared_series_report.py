"""Declared series that are not stored are reported where people look: by a worker's log, and by a check."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from celery import Celery
from django.core.checks import run_checks

from delayhub import delayed_task
from tasksapp import series
from tasksapp.models import Series
from tasksapp.task_backends.declared_series import report_declared_series, sync
from tasksapp.task_backends.delayed_task import TableStore

pytestmark = pytest.mark.django_db(transaction=True)


@delayed_task(biz_type="tests.hourly", name="tests.hourly")
def make_hourly() -> None:
    """Nothing."""


@pytest.fixture
def app(current_celery: Celery, monkeypatch: pytest.MonkeyPatch) -> Celery:
    """The app with one task that repeats, in these tests only: all tests of this process know the task."""
    monkeypatch.setattr(current_celery.tasks["tests.hourly"], "job_series", {"every": 3600})
    return current_celery


def warned() -> list[str]:
    found = run_checks(databases=["default"])
    return [each.msg for each in found if each.id == "delayhub.W026" and "tests.hourly" in each.msg]


def logged(app: Celery, caplog: pytest.LogCaptureFixture) -> str:
    logging.getLogger("tasksapp").propagate = True
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        report_declared_series(SimpleNamespace(app=app))
    return caplog.text


def test_what_is_not_stored_or_differs_is_named_until_it_is_in_step(
    app: Celery, caplog: pytest.LogCaptureFixture
) -> None:
    task = app.tasks["tests.hourly"]
    assert "not stored, so nothing makes their jobs: tests.hourly" in " ".join(warned())
    assert "run `manage.py sync_series` at each deploy" in logged(app, caplog)

    sync([task])
    assert (warned(), "tests.hourly" in logged(app, caplog)) == ([], False)
    series.change(Series.objects.get().pk, every=60)

    assert "another schedule or biz type, and go on so: tests.hourly" in " ".join(warned())
    assert "another schedule" in logged(app, caplog)


def test_the_command_check_of_celery_says_it_too(app: Celery) -> None:
    task = app.tasks["tests.hourly"]
    store = TableStore()
    (warning,) = [each for each in store.warnings() if "tests.hourly" in each]
    assert "not stored, so nothing makes their jobs" in warning
    assert "; run `manage.py sync_series`" in warning

    sync([task])
    assert not any("tests.hourly" in each for each in store.warnings())

    task.job_series = None
    assert any("no task declares any more, and they go on: tests.hourly" in each for each in store.warnings())


def test_a_check_without_a_database_asks_none(app: Celery) -> None:
    assert not [each for each in run_checks() if each.id == "delayhub.W026"]
