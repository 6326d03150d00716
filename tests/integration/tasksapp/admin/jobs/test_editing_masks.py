"""The form of a job whose body has masked fields."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from tasksapp import jobs
from tasksapp.models import Job
from tests.fixture_types import MakeBizType
from tests.planted_secrets import marker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


def test_it_keeps_the_value_where_its_body_is_left_as_it_is(admin_client: Client, make_biz_type: MakeBizType) -> None:
    card = marker("card")
    make_biz_type("order.close", masked_fields=["/card"])
    job_id = jobs.create("order.close", delay=60, body={"card": card, "order": 42}).job_id
    address = f"/admin/tasksapp/job/{job_id}/edit/"
    page = admin_client.get(address)
    assert card not in page.content.decode()
    form = page.context["form"]
    given = {field.name: field.value() for field in form if field.value() is not None}
    given |= {"due_at": "2099-01-01T08:00:00"}

    kept = admin_client.post(address, {**given, "biz_id": "order-42"})
    after = Job.objects.get(id=job_id)
    body = given["body"].replace("42", "43")
    refused = admin_client.post(address, {**given, "version": after.version, "biz_id": "order-42", "body": body})

    assert kept.status_code == 302
    assert (after.biz_id, json.loads(after.body)) == ("order-42", {"card": card, "order": 42})
    assert "body has a mask at /card" in refused.content.decode()
    assert json.loads(Job.objects.get(id=job_id).body) == {"card": card, "order": 42}
