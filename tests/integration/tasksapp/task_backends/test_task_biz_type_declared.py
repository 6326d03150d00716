"""What tasks declare is in the rows of their biz types once a worker has started."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery

from delayhub.celery_support.delayed_task import DelayedTask
from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.biz_types.allowed_tasks import DJANGO_QUEUES, DJANGO_TASK
from tasksapp.models import BizType, Tenant
from tasksapp.task_backends.task_biz_type import declare_tasks
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim

pytestmark = pytest.mark.django_db(transaction=True)


def start(*tasks: Any) -> None:
    """What the start of a worker with these tasks does."""
    declare_tasks(SimpleNamespace(app=SimpleNamespace(tasks={task.name: task for task in tasks})))


def nothing() -> None:
    """Does nothing."""


def task(app: Celery, name: str, *, biz_type: str = "declared.close", **more: Any) -> Any:
    return app.task(name=name, base=DelayedTask, biz_type=biz_type, shared=False, **more)(nothing)


def declared(code: str = "declared.close") -> tuple[Any, int]:
    row = BizType.objects.get(code=code)
    return row.declared, row.max_attempts


def test_a_missing_biz_type_is_made_and_says_the_task_the_queue_and_the_attempts(current_celery: Celery) -> None:
    start(task(current_celery, "tests.declared", job_max_attempts=5, job_queue="closing"))

    assert declared() == ({"task": "tests.declared", "queue": "closing", "max_attempts": 5}, 5)
    assert BizType.objects.get().task_queue == "closing"


def test_attempts_that_the_code_declares_hold_for_every_job_of_the_biz_type(
    make_biz_type: MakeBizType, current_celery: Celery, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("tasksapp").propagate = True
    make_biz_type("declared.close", target="celery", task_name="tests.declared")

    start(task(current_celery, "tests.declared", job_max_attempts=5))

    assert "declared.close has 5 attempts from now on, as its @delayed_task says, in the place of 16" in caplog.text
    assert declared()[1] == 5
    # As a caller of the API makes it, who says nothing of attempts.
    (claimed,) = claim(jobs.create("declared.close", by=Actor("api:checkout")).job_id, forward_seconds=300).forwarded
    assert claimed.max_attempts == 5


def test_a_worker_that_starts_again_writes_nothing(current_celery: Celery) -> None:
    close = task(current_celery, "tests.declared", job_max_attempts=5)
    start(close)
    written = BizType.objects.get().updated_at

    start(close)

    assert BizType.objects.get().updated_at == written


def test_an_alias_that_a_biz_type_has_is_declared_and_another_name_is_not(
    make_biz_type: MakeBizType, current_celery: Celery
) -> None:
    make_biz_type("declared.close", target="celery", task_name="tests.old")
    start(task(current_celery, "tests.declared", aliases=("tests.old",)))
    assert declared()[0]["task"] == "tests.old"

    BizType.objects.update(task_name="tests.renamed", declared=None)
    start(task(current_celery, "tests.declared2"))
    assert declared()[0] is None


def test_a_task_of_a_tenant_is_declared_for_that_tenant(current_celery: Celery) -> None:
    Tenant.objects.create(code="acme")

    start(task(current_celery, "tests.declared", job_tenant="acme"))

    assert BizType.objects.get().tenant.code == "acme"


def test_a_task_that_has_no_biz_type_is_logged_and_the_others_are_declared(
    make_biz_type: MakeBizType, current_celery: Celery, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("tasksapp").propagate = True
    make_biz_type("declared.http")

    start(
        task(current_celery, "tests.a", biz_type="declared.http"),
        task(current_celery, "tests.b", job_tenant="nobody"),
        task(current_celery, "tests.declared"),
    )

    assert declared()[0]["task"] == "tests.declared"
    assert declared("declared.http")[0] is None
    assert "tests.a has no biz type" in caplog.text
    assert "there is no tenant 'nobody'" in caplog.text


def test_a_task_that_is_no_delayed_task_any_more_loses_its_declaration(current_celery: Celery) -> None:
    start(task(current_celery, "tests.declared"))

    start(SimpleNamespace(name="tests.declared"))

    assert declared()[0] is None


def test_a_queue_of_djangos_tasks_whose_biz_type_a_person_made_is_declared(make_biz_type: MakeBizType) -> None:
    make_biz_type(f"{DJANGO_QUEUES}reports", target="celery", task_name=DJANGO_TASK)

    start()

    assert declared(f"{DJANGO_QUEUES}reports")[0] == {"task": DJANGO_TASK, "queue": "", "max_attempts": None}
