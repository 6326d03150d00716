"""The biz type of a task is made with its first job; one that runs something else is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from delayhub import delayed_task
from tasksapp.errors import InvalidJob
from tasksapp.models import BizType
from tasksapp.task_backends.task_biz_type import biz_type_of_task
from tests.fixture_types import MakeBizType

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("current_celery")]


@delayed_task(biz_type="shop.refund", name="tests.shop.refund")
def refund() -> None:
    """Gives money back."""


def test_it_is_made_once() -> None:
    made, found = (biz_type_of_task(refund, using="default") for _ in range(2))

    assert made == found == BizType.objects.get(code="shop.refund")
    assert (made.target, made.task_name) == (BizType.Target.CELERY, "tests.shop.refund")


def test_one_with_another_target_is_refused(make_biz_type: MakeBizType) -> None:
    make_biz_type("shop.refund")

    with pytest.raises(InvalidJob, match="does not run the task"):
        refund.schedule()


@pytest.mark.parametrize("code", ["Order.Remind", "x" * 101, ""])
def test_a_name_that_no_biz_type_may_have_makes_none(code: str) -> None:
    task: Any = SimpleNamespace(name="shop.remind", biz_type=code, job_tenant=None, job_max_attempts=None, aliases=())

    with pytest.raises(InvalidJob, match="no code of a biz type") as refused:
        biz_type_of_task(task, using="default")

    assert refused.value.field == "biz_type"
    assert not BizType.objects.exists()
