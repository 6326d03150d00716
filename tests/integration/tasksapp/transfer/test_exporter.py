"""Exporter: one tenant's rows and nobody else's, of one snapshot."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from tasksapp import jobs
from tasksapp.biz_types import editing
from tasksapp.models import BizType, Job, Status, Tenant
from tasksapp.transfer import exporter as module
from tasksapp.transfer.exporter import Exporter
from tasksapp.transfer.transfer_key import TransferKey
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)


def records(tenant: str = "default") -> list[dict[str, Any]]:
    lines = Exporter(Tenant.objects.get(code=tenant), key=TransferKey(), using="default").lines()
    return [json.loads(line) for line in lines]


def test_other_tenants_have_no_part_in_it(make_biz_type: MakeBizType) -> None:
    other = Tenant.objects.create(code="mallory")
    make_biz_type("order.close", tenant=other)
    make_biz_type("order.close")
    mine = jobs.create("order.close", delay=60).job
    jobs.create("order.close", tenant="mallory", delay=60)

    found = records()

    assert [each["kind"] for each in found] == ["export", "biz_type", "job", "end"]
    assert found[2]["id"] == str(mine.id)
    assert found[-1]["counts"] == {"biz_type": 1, "job": 1}


def test_what_has_ended_is_not_in_it_but_what_is_dead_is(make_biz_type: MakeBizType) -> None:
    biz_type = make_biz_type("order.close")
    for status in Status:
        store_job(biz_type, status)

    assert {each["status"] for each in records() if each["kind"] == "job"} == {"pending", "running", "dead"}


def test_a_new_secret_is_a_change_of_all(make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", auth="basic", auth_secret="ada:before")
    exporter = Exporter(Tenant.objects.get(), key=TransferKey(), using="default")
    before = exporter.digest()

    editing.change(BizType.objects.get(), {"auth": "basic"}, auth_secret="ada:after")

    after = exporter.digest()
    assert before != after == exporter.digest()


@pytest.mark.postgresql_only
def test_it_is_of_one_moment(make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ROWS", 1)
    biz_type = make_biz_type("order.close")
    first, second = (store_job(biz_type) for _ in range(2))
    lines = Exporter(Tenant.objects.get(), key=TransferKey(), using="default").lines()
    head = [next(lines) for _ in range(3)]

    with ThreadPoolExecutor(1) as thread:
        thread.submit(_delete, second).result(10)

    rest = [json.loads(line) for line in [*head, *lines]]
    assert [each["id"] for each in rest if each["kind"] == "job"] == [str(first.id), str(second.id)]


def _delete(job: Job) -> None:
    """By a connection of its own."""
    Job.objects.filter(id=job.id).delete()
    connection.close()
