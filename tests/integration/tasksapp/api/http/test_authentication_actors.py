"""What is done and created through the API is written down under the name of the key."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory
from rest_framework.request import Request

from tasksapp.api.http.authentication import actor_of
from tasksapp.models import AuditEntry, BizType, Job
from tests.fixture_types import Ask
from tests.integration.tasksapp.stored_jobs import in_status

pytestmark = pytest.mark.django_db(transaction=True)

JOB = {"biz_type": "order.close", "delay": 60}


@pytest.mark.parametrize(("path", "body"), [("/jobs", JOB), ("/jobs/bulk", {"jobs": [JOB, JOB]})])
def test_a_created_job_names_the_key(ask: Ask, biz_type: BizType, path: str, body: Any) -> None:
    assert ask("POST", path, body).status_code == 201

    assert set(Job.objects.values_list("created_by", flat=True)) == {"api:caller"}
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("verb", ["cancel", "run"])
def test_a_verb_names_the_key_and_its_address(ask: Ask, biz_type: BizType, verb: str) -> None:
    job_id = in_status()

    assert ask("POST", f"/jobs/{job_id}/{verb}").status_code == 200

    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.address, entry.job_id) == ("api:caller", "127.0.0.1", job_id)
    assert Job.objects.get().changed_by == "api:caller"


def test_a_verb_by_business_key_names_the_key(ask: Ask, biz_type: BizType) -> None:
    ask("POST", "/jobs", {**JOB, "biz_id": "order-7"})

    assert ask("PATCH", "/biz-types/order.close/jobs/order-7", {"delay": 90}).status_code == 200

    assert AuditEntry.objects.get().what == "order.close order-7"


def test_a_caller_cannot_name_another_one(ask: Ask, biz_type: BizType) -> None:
    assert ask("POST", "/jobs", {**JOB, "created_by": "ada"}).status_code == 400
    assert ask("POST", "/jobs", {**JOB, "by": "ada"}).status_code == 400
    assert ask("POST", f"/jobs/{in_status()}/cancel", {"by": "ada"}).status_code == 400


def test_a_user_of_a_project_with_its_own_authentication_is_named() -> None:
    request = Request(RequestFactory().post("/", REMOTE_ADDR="2001:db8::7"))
    request.user = User(username="ada")

    assert tuple(actor_of(request)) == ("ada", "2001:db8::7")
