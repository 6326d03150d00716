"""The Python in docs/jobs/jobs.md works as it stands."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.management import call_command, get_commands

from tasksapp.jobs.retry_policy import RetryPolicy
from tasksapp.models import BizType, Job, Status
from tests.repository import ROOT

PAGE = (ROOT / "docs/jobs/jobs.md").read_text()


@pytest.mark.django_db(transaction=True)
def test_the_examples_run(biz_type: BizType) -> None:
    BizType.objects.create(code="order.remind", target=BizType.Target.CELERY, task_name="docs_jobs.remind")
    names: dict[str, Any] = {"__name__": "docs_jobs"}

    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(compile(block, "docs/jobs/jobs.md", "exec"), names)

    # a thousand, cart, own request, exact bytes, sale
    assert Job.objects.filter(biz_type=biz_type, status=Status.PENDING).count() == 1_004
    cancelled = Job.objects.filter(status=Status.CANCELLED).values_list("biz_type__code", "biz_id")
    assert sorted(cancelled) == [
        ("order.close", "order-43"),
        ("order.close", "order-4300"),
        ("order.close", "order-5000"),
        ("order.remind", "order-42"),
        ("order.remind", "order-5000"),
    ]


@pytest.mark.django_db
def test_the_commands_exist() -> None:
    lines = re.findall(r"^python manage.py (\w+)( --[\w-]+)?", PAGE, flags=re.MULTILINE)

    assert {name for name, _ in lines} <= get_commands().keys()
    for name, flag in lines:
        call_command(name, *flag.split(), verbosity=0)


@pytest.mark.parametrize(
    ("label", "fields"),
    [
        ("fixed", {"backoff": "fixed"}),
        ("linear", {"backoff": "linear"}),
        ("exponential", {"backoff": "exponential"}),
        ("exponential, 3 doublings at most", {"backoff": "exponential", "backoff_max_doublings": 3}),
        ("list `[1, 60, 3600]`", {"backoff": "list", "backoff_list": [1, 60, 3600]}),
    ],
)
def test_the_waits_are_those_of_the_policy(label: str, fields: dict[str, Any]) -> None:
    (said,) = re.findall(rf"^\| {re.escape(label)} \| ([\d, ]+), … \|$", PAGE, flags=re.MULTILINE)
    policy = RetryPolicy(biz_type=BizType(backoff_min_seconds=10, backoff_max_seconds=300, **fields))

    waits = [int(number) for number in said.split(", ")]
    assert [policy.wait_seconds(failures) for failures in range(1, len(waits) + 1)] == waits
