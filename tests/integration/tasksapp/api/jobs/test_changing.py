"""Changes of one job: its fields, only from the state that the caller saw, and only what the caller sees."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tasksapp.access.keys import issue_key
from tasksapp.models import ApiKey, BizType, Job, Status, Tenant
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db(transaction=True)

VERBS = ["cancel", "run", "redrive", "drop"]


@pytest.fixture
def job(ask: Ask, biz_type: BizType) -> dict[str, Any]:
    """A pending job, as it was created, and its ETag."""
    answer = ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": "42", "delay": 3600, "body": {"n": 1}})
    return {**answer.json(), "etag": answer["ETag"]}


def test_the_etag_of_a_create_is_that_of_a_read_and_of_the_change_after_it(ask: Ask, job: dict[str, Any]) -> None:
    read = ask("GET", f"/jobs/{job['id']}")
    moved = ask("PATCH", f"/jobs/{job['id']}", {"delay": 60}, **{"if-match": job["etag"]})

    assert read["ETag"] == job["etag"]
    assert moved.status_code == 200
    assert moved["ETag"] == ask("GET", f"/jobs/{job['id']}")["ETag"] != job["etag"]


def test_a_change_from_an_older_state_is_refused_and_does_nothing(ask: Ask, job: dict[str, Any]) -> None:
    ask("PATCH", f"/jobs/{job['id']}", {"delay": 60})
    stale = {"if-match": job["etag"]}

    patched = ask("PATCH", f"/jobs/{job['id']}", {"delay": 5}, **stale)
    cancelled = ask("POST", f"/jobs/{job['id']}/cancel", **stale)
    by_key = ask("POST", "/biz-types/order.close/jobs/42/cancel", **stale)

    for refused in (patched, cancelled, by_key):
        assert problem(refused, 412)["code"] == "precondition_failed"
        assert refused["ETag"] == ask("GET", f"/jobs/{job['id']}")["ETag"]
    assert (Job.objects.get().status, Job.objects.get().version) == ("pending", 2)


def test_what_a_worker_did_meanwhile_counts_as_a_change_too(ask: Ask, job: dict[str, Any]) -> None:
    Job.objects.update(status=Status.PENDING, attempts=1, updated_at=timezone.now())  # as a retry leaves it

    problem(ask("POST", f"/jobs/{job['id']}/cancel", **{"if-match": job["etag"]}), 412)


@pytest.mark.parametrize("verb", ["", *(f"/{verb}" for verb in VERBS)])
def test_a_site_may_take_only_changes_that_name_a_state(
    ask: Ask, job: dict[str, Any], settings: Any, verb: str
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REST_CHANGES": "conditional"}
    if verb in {"/redrive", "/drop"}:
        Job.objects.update(status=Status.DEAD)
    method, body = ("POST", {}) if verb else ("PATCH", {"delay": 5})
    path = f"/jobs/{job['id']}{verb}"

    assert problem(ask(method, path, body), 428)["code"] == "precondition_required"
    assert ask(method, path, {**body, "version": 1}).status_code == 200


def test_a_patch_changes_what_is_given_and_nothing_else(ask: Ask, job: dict[str, Any]) -> None:
    path = f"/jobs/{job['id']}"

    edited = ask("PATCH", path, b'{"body": {"n": 1e2}, "priority": 1, "max_attempts": 3}').json()
    moved = ask("PATCH", path, {"priority": None, "delay": 60}).json()

    assert (edited["body"], edited["priority"], edited["max_attempts"]) == ({"n": 100.0}, 1, 3)
    assert edited["due_at"] == job["due_at"]
    assert Job.objects.get().body == '{"n": 1e2}'
    assert (moved["priority"], moved["max_attempts"]) == (5, 3)
    assert moved["due_at"] < job["due_at"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "due_at"),
        ({"version": 1}, "due_at"),
        ({"delay": 5, "due_at": "2027-01-01T00:00:00Z", "priority": 1}, "delay"),
        ({"priority": 10}, "priority"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"body": {"a": "\x00"}}, "body"),
        ({"biz_id": "4" * 201}, "biz_id"),
        ({"id": "43"}, "id"),
    ],
)
def test_a_change_that_cannot_be_names_the_field(
    ask: Ask, job: dict[str, Any], fields: dict[str, Any], field: str
) -> None:
    (error,) = problem(ask("PATCH", f"/jobs/{job['id']}", fields), 400)["errors"]

    assert error["field"] == field


def test_what_the_caller_does_not_see_is_not_there_and_stays_as_it_is(
    ask: Ask, job: dict[str, Any], client: Client
) -> None:
    ApiKey.objects.create(name="other", tenant=Tenant.objects.create(code="other"), prefix="x", hashed_key="x")
    foreign = issue_key("foreign")
    ApiKey.objects.filter(id=foreign.row.id).update(tenant=Tenant.objects.get(code="other"))
    headers = {"authorization": f"Bearer {foreign.key}", "if-match": "*"}
    paths = [f"/jobs/{job['id']}", "/biz-types/order.close/jobs/42"]

    for path in paths:
        problem(client.get(f"/api/v1{path}", headers=headers), 404)
        problem(client.patch(f"/api/v1{path}", b'{"delay": 5}', "application/json", headers=headers), 404)
        problem(client.post(f"/api/v1{path}/cancel", b"", "application/json", headers=headers), 404)
    problem(client.get(f"/api/v1{paths[0]}/attempts", headers=headers), 404)

    assert Job.objects.get().version == 1


def test_a_delay_of_a_wider_change_counts_from_now(ask: Ask, job: dict[str, Any]) -> None:
    ask("PATCH", f"/jobs/{job['id']}", {"delay": 60, "priority": 0})

    left = Job.objects.get().due_at - timezone.now()
    assert timedelta(seconds=30) < left <= timedelta(seconds=60)


def test_an_own_request_goes_in_and_comes_back_masked(ask: Ask, biz_type: BizType) -> None:
    own = {"timeout_seconds": 2, "headers": {"Authorization": "Bearer s3cret", "X-Region": "eu"}, "url": None}
    shown = {"timeout_seconds": 2.0, "headers": {"X-Region": "eu", "Authorization": "(hidden)"}}

    made = ask("POST", "/jobs", {"biz_type": "order.close", "delay": 3600, "request": own})
    path = f"/jobs/{made.json()['id']}"
    read = ask("GET", path)
    kept = ask("PATCH", path, {"request": {**shown, "timeout_seconds": 1}})
    refused = ask("PATCH", path, {"request": {"url": "https://elsewhere.example/"}})
    gone = ask("PATCH", path, {"request": None})

    assert made.json()["request"] == read.json()["request"] == shown
    assert kept.json()["request"] == {**shown, "timeout_seconds": 1.0}
    assert problem(refused, 400)["errors"][0]["code"] == "host"
    assert gone.json()["request"] is None
