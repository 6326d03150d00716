"""The rest of an operation that stopped: for which jobs it is planned, and when it cannot be."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tasksapp import operations
from tasksapp.errors import WrongOperationState
from tasksapp.models import BizType, Operation, Tenant
from tests.integration.tasksapp.operation_runs import ADA, dead_jobs, planned

pytestmark = pytest.mark.django_db


def stopped(verb: str, **wanted: object) -> Operation:
    """An operation that was stopped before it changed any of its jobs."""
    return operations.stop(planned(verb, **wanted).pk, by=ADA)


def test_it_is_for_the_jobs_of_no_other_tenant_or_biz_type(biz_type: BizType) -> None:
    dead_jobs(biz_type, 2)
    Tenant.objects.create(code="other", name="Other")
    operation = stopped("drop")
    Operation.objects.update(tenant_id=biz_type.tenant_id, biz_type_ids=[biz_type.pk])

    rest, is_new = operations.plan_rest(operation.pk, by=ADA)

    assert is_new
    assert (rest.tenant_id, rest.biz_type_ids) == (biz_type.tenant_id, [biz_type.pk])


def test_it_follows_a_biz_type_that_has_another_code_since(biz_type: BizType) -> None:
    dead_jobs(biz_type, 2)
    operation = stopped("redrive", biz_type="order.close")
    BizType.objects.filter(pk=biz_type.pk).update(code="order.end")

    rest, _ = operations.plan_rest(operation.pk, by=ADA)

    assert (rest.biz_type_id, rest.job_filter["biz_type"]) == (biz_type.pk, "order.end")


def test_jobs_that_are_rescheduled_keep_the_time_and_are_planned_once(biz_type: BizType) -> None:
    operation = stopped("reschedule", biz_type="order.close", due_at=timezone.now() + timedelta(hours=1))
    Operation.objects.update(left=3)
    rest, _ = operations.plan_rest(operation.pk, by=ADA)

    again, is_new = operations.plan_rest(operation.pk, by=ADA)

    assert (again, is_new, again.due_at) == (rest, False, operation.due_at)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"state": "running"}, "it is running, and only one that stopped or failed"),
        ({"verb": "run_now"}, "its jobs cannot be told"),
        ({"planned_at": None}, "before its jobs were counted"),
        ({"left": 0}, "it left no job"),
    ],
)
def test_where_no_rest_is_known_it_says_why(biz_type: BizType, values: dict[str, object], why: str) -> None:
    dead_jobs(biz_type, 2)
    operation = stopped("redrive")
    Operation.objects.update(**values)

    with pytest.raises(WrongOperationState, match=why):
        operations.plan_rest(operation.pk, by=ADA)

    assert Operation.objects.count() == 1
