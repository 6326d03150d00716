"""Which tasks and queues a biz type may lead to, by its tenant, the settings and what is declared."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.biz_types.allowed_tasks import attempts_complaint, is_declared, queue_complaint, task_complaint
from tasksapp.biz_types.definition import define
from tasksapp.errors import InvalidBizType
from tasksapp.models import DEFAULT_TENANT, BizType, Tenant
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db


def of(tenant: str, task: str = "shop.tasks.close", **fields: Any) -> BizType:
    """A biz type that is not stored."""
    row = Tenant.objects.get_or_create(code=tenant, defaults={"id": DEFAULT_TENANT} if tenant == "default" else {})[0]
    return BizType(tenant=row, code="shop.close", target="celery", task_name=task, **fields)


def declares(task: str, **more: Any) -> dict[str, Any]:
    return {"task": task, "queue": "", "max_attempts": None, **more}


@pytest.mark.parametrize(
    ("entries", "default", "acme", "beta"),
    [
        ([], False, False, False),
        # an entry without a tenant is for the default one
        (["shop.tasks.*"], True, False, False),
        (["shop.tasks.clos?", "other"], True, False, False),
        (["Shop.*", "shop.tasks", "tasks.close"], False, False, False),
        (["acme/shop.tasks.close"], False, True, False),
        (["default/shop.*"], True, False, False),
        (["*/shop.tasks.close"], True, True, True),
        (["ac*/*"], False, True, False),
    ],
)
def test_an_entry_allows_a_task_and_a_queue_to_the_tenant_that_it_names(
    settings: Any, entries: list[str], default: bool, acme: bool, beta: bool
) -> None:
    settings.DELAYHUB |= {"ALLOWED_TASKS": entries, "ALLOWED_QUEUES": entries}

    for tenant, allowed in (("default", default), ("acme", acme), ("beta", beta)):
        assert (task_complaint(of(tenant)) is None) is allowed, tenant
        assert (queue_complaint(of(tenant, task_queue="shop.tasks.close")) is None) is allowed, tenant


@pytest.mark.parametrize("tenant", ["default", "acme"])
@pytest.mark.parametrize(
    "task",
    [
        "tasksapp.deliver", "tasksapp.run_task", "tasksapp.run_django_task", "celery.backend_cleanup", "celery.map",
        "celery.starmap", "celery.chunks", "celery.chain", "celery.chord_unlock", "celery.chord", "celery.group",
        "celery.accumulate",
    ],
)  # fmt: skip
def test_tasks_of_celery_and_of_ours_are_never_allowed(settings: Any, tenant: str, task: str) -> None:
    settings.DELAYHUB |= {"ALLOWED_TASKS": ["*", "*/*"]}

    assert "No job may run a task of Celery's" in str(task_complaint(of(tenant, task)))
    assert "No job may run" in str(task_complaint(of(tenant, task, declared=declares(task))))


@pytest.mark.parametrize("tenant", ["default", "acme"])
@pytest.mark.parametrize(
    "queue", ["delayhub.timers", "second.lane", "@pull:report", "w@host.celery.pidbox", "celeryev", "celeryev.7"]
)
def test_queues_of_celery_and_of_ours_are_never_allowed(settings: Any, tenant: str, queue: str) -> None:
    settings.DELAYHUB |= {"ALLOWED_QUEUES": ["*", "*/*"], "LANES": ["delayhub.timers", "second.lane"]}

    assert "No task may be sent to a queue of Celery's" in str(queue_complaint(of(tenant, task_queue=queue)))


def test_a_declared_task_is_for_its_tenant_and_no_other(make_biz_type: MakeBizType) -> None:
    declaration = declares("shop.tasks.close", queue="shop")
    make_biz_type("declared", target="celery", task_name="shop.tasks.close", declared=declaration)

    assert task_complaint(of("default")) is None
    assert is_declared(of("default"))
    assert queue_complaint(of("default", task_queue="shop", declared=declaration)) is None
    assert "The project does not let jobs go to the queue shop" in str(
        queue_complaint(of("default", task_queue="shop"))
    )
    assert "The tenant acme may not run the task shop.tasks.close" in str(task_complaint(of("acme")))
    assert "acme/shop.tasks.close" in str(task_complaint(of("acme")))


def test_a_declaration_says_nothing_about_another_task_of_the_row() -> None:
    other = of("default", "shop.tasks.refund", declared=declares("shop.tasks.close", max_attempts=5, queue="q"))

    assert "The project does not let jobs run the task shop.tasks.refund" in str(task_complaint(other))
    assert not is_declared(other)
    assert attempts_complaint(other) is None


def test_an_edit_is_judged_where_it_chooses_a_task_or_a_queue(make_biz_type: MakeBizType) -> None:
    row = make_biz_type("old", target="celery", task_name="shop.old", task_queue="old")

    assert define(row, {"priority": 1, "task_name": "shop.old", "task_queue": "old"}) == {"priority"}
    for given in ({"task_name": "shop.other"}, {"task_queue": "other"}):
        with pytest.raises(InvalidBizType, match="The project does not let jobs"):
            define(BizType.objects.get(), given)


def test_a_task_that_waits_behind_another_target_is_judged_when_it_becomes_the_target(
    make_biz_type: MakeBizType,
) -> None:
    row = make_biz_type("hidden", task_name="tasksapp.deliver", task_queue="delayhub.timers")

    with pytest.raises(InvalidBizType) as refused:
        define(row, {"target": "celery"})

    assert {fault.field for fault in refused.value.faults} == {"task_name", "task_queue"}


def test_attempts_that_the_code_declares_are_changed_in_the_code(make_biz_type: MakeBizType) -> None:
    declaration = declares("shop.tasks.close", max_attempts=5)
    row = make_biz_type("declared", target="celery", task_name="shop.tasks.close", max_attempts=5, declared=declaration)

    with pytest.raises(InvalidBizType, match="@delayed_task says 5: change it there"):
        define(row, {"max_attempts": 9})
