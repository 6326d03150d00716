"""What may be an argument of a delayed task: what Celery carries, and nothing else."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from delayhub import delayed_task
from tasksapp.errors import InvalidJob
from tasksapp.models import Job
from tests.task_messages import work

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_types_that_celery_carries_reach_the_task() -> None:
    given = [Decimal("12.30"), date(2026, 1, 2), UUID(int=7)]
    got: list[Any] = []

    @delayed_task(biz_type="shop.typed", name="tests.shop.typed")
    def typed(*values: Any) -> None:
        got.extend(values)

    work(typed, typed.schedule(args=given).id)

    assert got == given


def test_a_refused_argument_is_named_and_not_called_a_body() -> None:
    @delayed_task(biz_type="shop.close", name="tests.shop.close_order")
    def close_order(order_id: Any) -> None: ...

    with pytest.raises(TypeError, match=r"args\[0\] cannot be an argument of a job"):
        close_order.schedule(args=[{1, 2}])
    with pytest.raises(InvalidJob, match=r"^the arguments may have 65536 bytes") as refused:
        close_order.schedule(args=["x" * 70_000])

    assert refused.value.field == "arguments"
    assert not Job.objects.exists()
