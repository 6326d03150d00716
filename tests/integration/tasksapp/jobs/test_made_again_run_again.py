"""A job that has succeeded runs again as a new job."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.access.keys import issue_key
from tasksapp.errors import JobNotFound, WrongState
from tasksapp.jobs.own_request_rule import fitted
from tasksapp.jobs.requests import RULES
from tasksapp.models import BizType, Job, Status, Tenant
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def biz_type(db: None) -> BizType:
    """A biz type of another tenant than the default one."""
    return BizType.objects.create(
        code="order.close", url="https://a.example", tenant=Tenant.objects.create(code="acme")
    )


def test_it_is_a_new_job_with_the_same_content(biz_type: BizType) -> None:
    first = store_job(
        biz_type, Status.SUCCEEDED,
        biz_id="42", flow_key="customer-7", body='{"total": 1e2}', priority=1, max_attempts=3,
    )  # fmt: skip

    again = jobs.run_again(first.id, by=Actor("ada"))

    job = Job.objects.get(id=again.job_id)
    assert job.id != first.id
    assert (job.biz_type, job.biz_id, job.flow_key) == (biz_type, "42", "customer-7")
    assert job.body == '{"total": 1e2}'
    assert (job.priority, job.max_attempts, job.created_by, job.status) == (1, 3, "ada", Status.PENDING)
    assert Job.objects.get(id=first.id).status == Status.SUCCEEDED


def test_one_of_a_flow_key_in_order_is_the_last_of_its_key(biz_type: BizType) -> None:
    BizType.objects.update(ordered=BizType.Ordered.BLOCKS)
    first = store_job(biz_type, Status.SUCCEEDED, flow_key="customer-7", priority=1, place=1)

    again = Job.objects.get(id=jobs.run_again(first.id).job_id)

    assert (again.flow_key, again.place is None, again.priority) == ("customer-7", False, biz_type.priority)


@pytest.mark.parametrize("status", [Status.PENDING, Status.DEAD, Status.CANCELLED])
def test_others_are_left_to_their_verbs(biz_type: BizType, status: Status) -> None:
    with pytest.raises(WrongState, match="cannot run again"):
        jobs.run_again(store_job(biz_type, status).id)
    with pytest.raises(JobNotFound):
        jobs.run_again(UUID(int=7))


def test_of_another_version_than_its_caller_saw_none_is_made(biz_type: BizType, client: Client) -> None:
    first = store_job(biz_type, Status.SUCCEEDED, version=3)
    headers: Any = {"authorization": f"Bearer {issue_key('own', scopes=['jobs:act'], tenant=biz_type.tenant).key}"}

    def ask(version: Any) -> Any:
        body = json.dumps({"version": version})
        return client.post(f"/api/v1/jobs/{first.id}/run-again", body, content_type="application/json", headers=headers)

    assert [ask(version).status_code for version in (2, "x")] == [409, 400]
    assert Job.objects.count() == 1
    assert ask(3).status_code == 201


def test_it_takes_its_own_request_over_with_its_secrets(biz_type: BizType) -> None:
    text = fitted(RULES["request"], RULES["request"]({"headers": {"Authorization": "Bearer mine"}}), biz_type)
    first = store_job(biz_type, Status.SUCCEEDED, request=text)

    again = jobs.run_again(first.id)

    assert Job.objects.get(id=again.job_id).request == text
