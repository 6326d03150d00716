"""Headers of creates: the idempotency key of requests, and what is left of the insert limit in answers."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections, transaction

from tasksapp.access.keys import issue_key
from tasksapp.api.jobs import creation
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.errors import JobDeleted
from tasksapp.jobs.creation import create
from tasksapp.models import ApiKey, BizType, Job, Tenant, TenantCount
from tests.fixture_types import Ask, MakeBizType
from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db(transaction=True)

JOB = {"biz_type": "order.close", "biz_id": "42", "delay": 60}


def test_the_header_and_the_field_are_one_key(ask: Ask, biz_type: BizType) -> None:
    by_header = ask("POST", "/jobs", JOB, **{"idempotency-key": '"k 1"'})
    by_field = ask("POST", "/jobs", {**JOB, "idempotency_key": "k 1"})
    by_both = ask("POST", "/jobs", {**JOB, "idempotency_key": "k 1"}, **{"idempotency-key": '"k 1"'})
    by_header_and_null = ask("POST", "/jobs", {**JOB, "idempotency_key": None}, **{"idempotency-key": '"k 1"'})

    assert [answer.status_code for answer in (by_header, by_field, by_both, by_header_and_null)] == [201, 200, 200, 200]
    assert by_field["ETag"] == by_header["ETag"]
    assert Job.objects.count() == 1


def test_two_keys_that_differ_and_a_key_that_cannot_be_read_are_refused(ask: Ask, biz_type: BizType) -> None:
    two = ask("POST", "/jobs", {**JOB, "idempotency_key": "a"}, **{"idempotency-key": '"b"'})
    malformed = [ask("POST", path, body, **{"idempotency-key": '"'}) for path, body in (
        ("/jobs", JOB), ("/jobs/bulk", {"jobs": [JOB]})
    )]  # fmt: skip

    assert problem(two, 400)["errors"][0]["code"] == "conflict"
    assert {problem(answer, 400)["code"] for answer in malformed} == {"malformed_idempotency_key"}
    assert not Job.objects.exists()


def test_another_request_with_the_same_key_is_unprocessable(ask: Ask, biz_type: BizType) -> None:
    first = ask("POST", "/jobs", JOB, **{"idempotency-key": '"k"'}).json()

    refused = problem(ask("POST", "/jobs", {**JOB, "delay": 61}, **{"idempotency-key": '"k"'}), 422)

    assert (refused["code"], refused["job_id"]) == ("idempotency_key_taken", first["id"])


def test_a_bulk_that_is_sent_again_with_its_key_makes_no_second_jobs(ask: Ask, biz_type: BizType) -> None:
    bulk: dict[str, Any] = {"jobs": [JOB, JOB, {**JOB, "idempotency_key": "own"}]}

    first = ask("POST", "/jobs/bulk", bulk, **{"idempotency-key": '"b"'}).json()
    again = ask("POST", "/jobs/bulk", bulk, **{"idempotency-key": '"b"'}).json()
    bulk["jobs"][1] = {**JOB, "delay": 5}
    changed = ask("POST", "/jobs/bulk", bulk, **{"idempotency-key": '"b"'}).json()

    assert [result["id"] for result in again["results"]] == [result["id"] for result in first["results"]]
    assert [result["created"] for result in again["results"]] == [False] * 3
    assert changed["results"][1]["error"]["code"] == "idempotency_key_taken"
    assert Job.objects.count() == 3


def test_a_key_of_another_tenant_is_another_key(ask: Ask, make_biz_type: MakeBizType, client: Any) -> None:
    acme = Tenant.objects.create(code="acme")
    make_biz_type("order.close")
    make_biz_type("acme.close", tenant=acme)
    foreign = issue_key("acme")
    ApiKey.objects.filter(id=foreign.row.id).update(tenant=acme)
    headers = {"authorization": f"Bearer {foreign.key}", "idempotency-key": '"k"'}

    ours = ask("POST", "/jobs", JOB, **{"idempotency-key": '"k"'})
    body = {**JOB, "biz_type": "acme.close", "delay": 5}
    theirs = client.post("/api/v1/jobs", body, content_type="application/json", headers=headers)
    client.post("/api/v1/jobs", JOB, content_type="application/json", headers=headers)

    assert (ours.status_code, theirs.status_code) == (201, 201)
    assert Job.objects.count() == 2, "no request gets a job of another tenant by its key"


def test_the_same_request_makes_no_second_job_when_the_first_has_been_deleted(ask: Ask, biz_type: BizType) -> None:
    made = create("order.close", biz_id="42", delay=60, idempotency_key="k")
    Job.objects.all().delete()

    with pytest.raises(JobDeleted, match=f"made job {made.job_id} before, which has been deleted"):
        create("order.close", biz_id="42", delay=60, idempotency_key="k").job  # noqa: B018  it is read
    again = problem(ask("POST", "/jobs", JOB, **{"idempotency-key": '"k"'}), 409)
    bulk = ask("POST", "/jobs/bulk", {"jobs": [{**JOB, "idempotency_key": "k"}]})
    other = problem(ask("POST", "/jobs", {**JOB, "delay": 90}, **{"idempotency-key": '"k"'}), 422)

    assert (again["code"], again["job_id"]) == ("job_deleted", str(made.job_id))
    assert (bulk.status_code, bulk.json()["results"][0]["id"]) == (201, str(made.job_id))
    assert bulk.json()["results"][0]["created"] is False
    assert other["code"] == "idempotency_key_taken"
    assert not Job.objects.exists()


@pytest.mark.postgresql_only
def test_while_the_first_request_runs_the_same_key_is_a_conflict(
    ask: Ask, biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creation, "KEY_WAIT_SECONDS", 0.2)
    has_claimed, may_commit = threading.Event(), threading.Event()

    def first() -> None:
        try:
            with transaction.atomic():
                create("order.close", biz_id="42", delay=60, idempotency_key="k")
                has_claimed.set()
                assert may_commit.wait(60)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(first)
        assert has_claimed.wait(60)
        began = time.monotonic()
        refused = ask("POST", "/jobs", JOB, **{"idempotency-key": '"k"'})
        took = time.monotonic() - began
        may_commit.set()
        running.result()
    again = ask("POST", "/jobs", JOB, **{"idempotency-key": '"k"'})

    assert problem(refused, 409)["code"] == "idempotency_key_in_use"
    assert refused["Retry-After"] == "1"
    assert 0.2 <= took < 10
    assert (again.status_code, again.json()["created"]) == (200, False)


def test_answers_say_what_is_left_of_the_insert_limit(ask: Ask, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", insert_rate=0.1, insert_burst=3)
    make_biz_type("free")

    first = ask("POST", "/jobs", JOB)
    bulk = ask("POST", "/jobs/bulk", {"jobs": [JOB] * 3})
    refused = ask("POST", "/jobs", JOB)
    free = ask("POST", "/jobs", {"biz_type": "free"})

    assert (first.status_code, bulk.status_code, refused.status_code, free.status_code) == (201, 207, 429, 201)
    assert {answer["RateLimit-Policy"] for answer in (first, bulk, refused)} == {'"order.close";q=3;w=30'}
    assert first["RateLimit"].startswith('"order.close";r=2;t=')
    assert bulk["RateLimit"].startswith('"order.close";r=0;t=')
    assert refused["RateLimit"] == f'"order.close";r=0;t={refused["Retry-After"]}'
    assert "RateLimit" not in free.headers
    assert bulk.json()["results"][2]["error"]["retry_after"] in range(1, 11)
    assert "retry_after" not in problem(refused, 429)  # it has the header


def test_a_create_beyond_the_quota_says_which_and_when_to_come_again(ask: Ask, biz_type: BizType) -> None:
    Tenant.objects.update(most_pending_jobs=3)
    TenantCount.objects.create(
        tenant_id=biz_type.tenant_id, pending_jobs=5, pending_bytes=9, series=0, biz_types=1, api_keys=1,
        counted_at=biz_type.created_at,
    )  # fmt: skip
    biz_type_cache.clear()

    single, several = ask("POST", "/jobs", JOB), ask("POST", "/jobs/bulk", {"jobs": [JOB]})

    refused = problem(single, 429)
    assert (refused["code"], refused["quota"], refused["limit"], refused["used"]) == (
        "too_much_pending", "pending_jobs", 3, 5,
    )  # fmt: skip
    assert single["Retry-After"] == "10"
    assert several.json()["results"][0]["error"]["code"] == "too_much_pending"
    assert not Job.objects.exists()


def test_one_more_series_than_there_may_be_is_a_conflict(ask: Ask, biz_type: BizType) -> None:
    Tenant.objects.update(most_series=0)

    refused = problem(ask("POST", "/series", {"biz_type": "order.close", "name": "hourly", "every": 3_600}), 409)

    assert (refused["code"], refused["quota"], refused["limit"], refused["used"]) == ("quota_used_up", "series", 0, 0)
