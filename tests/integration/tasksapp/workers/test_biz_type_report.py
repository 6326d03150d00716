"""A worker that starts reports the biz types whose jobs it would get and could not run."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery

from tasksapp.models import BizType
from tasksapp.workers.biz_type_report import check_refused_tasks, report_biz_types
from tests.fixture_types import MakeBizType


@pytest.fixture
def made(make_biz_type: MakeBizType, settings: Any) -> BizType:
    settings.DELAYHUB |= {"ALLOWED_TASKS": ["orders.*"], "ALLOWED_QUEUES": ["elsewhere"]}
    # A code of its own: delayed tasks of other tests belong to every app of this process.
    return make_biz_type("report.close", target=BizType.Target.CELERY, task_name="orders.close")


def reports(app: Celery, caplog: pytest.LogCaptureFixture) -> str:
    logging.getLogger("tasksapp").propagate = True
    caplog.clear()
    with caplog.at_level(logging.ERROR):
        report_biz_types(SimpleNamespace(app=app))
    return caplog.text


def test_a_task_that_this_worker_lacks_is_named(
    current_celery: Celery, made: BizType, caplog: pytest.LogCaptureFixture
) -> None:
    assert "report.close come to this worker, which has no task orders.close" in reports(current_celery, caplog)

    @current_celery.task(name="orders.close", shared=False)
    def close() -> None: ...

    assert reports(current_celery, caplog) == ""


def test_a_task_whose_queue_other_workers_take_is_not(
    current_celery: Celery, made: BizType, caplog: pytest.LogCaptureFixture
) -> None:
    BizType.objects.update(task_queue="elsewhere")

    assert reports(current_celery, caplog) == ""


def test_a_lane_that_the_settings_lack_is_named(
    current_celery: Celery, biz_type: BizType, caplog: pytest.LogCaptureFixture
) -> None:
    assert reports(current_celery, caplog) == ""

    BizType.objects.update(lane="gone")
    assert "its lane gone is not in DELAYHUB['LANES']" in reports(current_celery, caplog)


def test_biz_types_that_are_disabled_are_left_out(
    current_celery: Celery, made: BizType, caplog: pytest.LogCaptureFixture
) -> None:
    BizType.objects.update(enabled=False)

    assert reports(current_celery, caplog) == ""


def test_a_task_that_the_project_does_not_allow_is_named_with_what_to_write(
    current_celery: Celery, made: BizType, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    BizType.objects.update(task_queue="elsewhere")
    settings.DELAYHUB = {**settings.DELAYHUB, "ALLOWED_TASKS": []}
    said = "jobs of report.close will be refused. The project does not let jobs run the task orders.close"

    assert said in reports(current_celery, caplog)
    (warning,) = check_refused_tasks(databases=["default"])
    assert (warning.id, warning.msg[: len(said)]) == ("delayhub.W030", said)
    assert check_refused_tasks() == []
