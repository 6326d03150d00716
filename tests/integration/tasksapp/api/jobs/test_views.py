"""Jobs over REST: what is accepted, what is refused and how, and that a refusal leaves nothing half-made."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.api.jobs.reading import AttemptSerializer
from tasksapp.api.jobs.representation import CreatedJobSerializer, JobSerializer
from tasksapp.models import Attempt, BizType, Job, Status
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_job_is_created_and_armed(ask: Ask, biz_type: BizType) -> None:
    response = ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": "42", "delay": 60, "body": {"order": 42}})

    assert response.status_code == 201
    answer = response.json()
    assert (answer["status"], answer["created"], answer["armed"], answer["past_due"]) == ("pending", True, True, False)
    assert answer["body"] == {"order": 42}
    assert response["Location"] == f"/api/v1/jobs/{answer['id']}"
    assert Job.objects.get().biz_id == "42"
    assert set(answer) == set(CreatedJobSerializer().fields)


def test_a_due_time_in_the_past_fires_now_and_says_so(ask: Ask, biz_type: BizType) -> None:
    answer = ask("POST", "/jobs", {"biz_type": "order.close", "due_at": "2020-01-01T00:00:00Z"}).json()

    assert answer["past_due"] is True


@pytest.mark.parametrize(
    ("fields", "field", "code"),
    [
        ({}, "biz_type", "required"),
        ({"biz_type": "unknown"}, "biz_type", "unknown"),
        ({"biz_type": 7}, "biz_type", "invalid"),
        ({"biz_type": "order.close", "delay": -1}, "delay", "negative"),
        ({"biz_type": "order.close", "delay": "soon"}, "delay", "invalid"),
        ({"biz_type": "order.close", "delay": 1e12}, "delay", "too_far"),
        ({"biz_type": "order.close", "due_at": "2200-01-01T00:00:00Z"}, "due_at", "too_far"),
        ({"biz_type": "order.close", "due_at": "2026-13-01T00:00:00Z"}, "due_at", "invalid"),
        # a time without a zone names no moment
        ({"biz_type": "order.close", "due_at": "2027-01-01T00:00:00"}, "due_at", "no_time_zone"),
        ({"biz_type": "order.close", "due_at": "2027-01-01T00:00:00Z", "delay": 5}, "delay", "conflict"),
        ({"biz_type": "order.close", "body": "x" * 70_000}, "body", "too_large"),
        ({"biz_type": "order.close", "body": {"a": "\x00"}}, "body", "nul"),
        ({"biz_type": "order.close", "body": 2**70}, "body", "number"),
        ({"biz_type": "order.close", "priority": 10}, "priority", "invalid"),
        ({"biz_type": "order.close", "max_attempts": 0}, "max_attempts", "invalid"),
        ({"biz_type": "order.close", "biz_id": "x" * 201}, "biz_id", "too_long"),
        ({"biz_type": "order.close", "colour": "red"}, "colour", "unknown"),
    ],
)
def test_a_bad_field_is_named_and_nothing_is_made(
    ask: Ask, biz_type: BizType, fields: dict[str, Any], field: str, code: str
) -> None:
    (error,) = problem(ask("POST", "/jobs", fields), 400)["errors"]

    assert (error["field"], error["code"]) == (field, code)
    assert not Job.objects.exists()


def test_the_same_key_and_request_make_one_job_and_another_request_is_a_conflict(ask: Ask, biz_type: BizType) -> None:
    fields = {"biz_type": "order.close", "biz_id": "42", "delay": 60}
    header = {"idempotency-key": "k-1"}

    first, again = ask("POST", "/jobs", fields, **header), ask("POST", "/jobs", fields, **header)
    other = ask("POST", "/jobs", {**fields, "biz_id": "43"}, **header)

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert problem(other, 422)["job_id"] == first.json()["id"]
    assert Job.objects.count() == 1


def test_the_same_debounce_key_replaces_what_waits_and_says_so(ask: Ask, biz_type: BizType) -> None:
    fields = {"biz_type": "order.close", "delay": 60, "debounce_key": "cart-7"}
    first, later = (ask("POST", "/jobs", {**fields, "body": word}) for word in ("one", "two"))
    job = {**fields, "body": "three"}
    bulk = ask("POST", "/jobs/bulk", {"jobs": [job, {**job, "body": "four"}]})

    assert (first.status_code, later.status_code, bulk.status_code) == (201, 200, 201)
    assert [(answer.json()["created"], answer.json()["replaced"]) for answer in (first, later)] == [
        (True, False),
        (False, True),
    ]
    assert (later.json()["body"], later.json()["version"], later.json()["debounce_key"]) == ("two", 2, "cart-7")
    ids = {first.json()["id"], later.json()["id"], *(result["id"] for result in bulk.json()["results"])}
    assert [result["replaced"] for result in bulk.json()["results"]] == [False, True]
    assert ids == {str(Job.objects.get().id)}
    assert Job.objects.get().body == '"four"'


def test_in_a_bulk_the_good_jobs_are_created_whatever_the_others_are(ask: Ask, biz_type: BizType) -> None:
    jobs: list[Any] = [{"biz_type": "order.close", "biz_id": str(n), "delay": 60} for n in range(3)]
    jobs[1:1] = [{"biz_type": "nope"}, 7, {"biz_type": "order.close", "colour": 1}]

    response = ask("POST", "/jobs/bulk", {"jobs": jobs})

    assert response.status_code == 207
    answer = response.json()
    assert (answer["created"], answer["refused"]) == (3, 3)
    assert ["error" in result for result in answer["results"]] == [False, True, True, True, False, False]
    assert {str(job.id) for job in Job.objects.all()} == {r["id"] for r in answer["results"] if "id" in r}


@pytest.mark.parametrize("jobs", [None, [], "x", [{}] * 1001])
def test_a_bulk_of_no_or_too_many_jobs_is_refused(ask: Ask, biz_type: BizType, jobs: Any) -> None:
    assert problem(ask("POST", "/jobs/bulk", {"jobs": jobs}), 400)["errors"][0]["field"] == "jobs"


def test_a_job_is_moved_cancelled_and_then_refuses(ask: Ask, biz_type: BizType) -> None:
    job = ask("POST", "/jobs", {"biz_type": "order.close", "delay": 60}).json()
    later = (timezone.now() + timedelta(hours=2)).isoformat()

    moved = ask("PATCH", f"/jobs/{job['id']}", {"due_at": later, "version": job["version"]})
    stale = ask("POST", f"/jobs/{job['id']}/cancel", {"version": job["version"]})
    cancelled = ask("POST", f"/jobs/{job['id']}/cancel")
    again = ask("POST", f"/jobs/{job['id']}/cancel")

    assert moved.json()["version"] == job["version"] + 1
    assert problem(stale, 409)["state"] == "pending"
    assert cancelled.json()["status"] == "cancelled"
    assert problem(again, 409)["state"] == "cancelled"


def test_a_pending_job_runs_now_and_a_dead_one_is_redriven_or_dropped(ask: Ask, biz_type: BizType) -> None:
    job = ask("POST", "/jobs", {"biz_type": "order.close", "delay": 3600}).json()
    path = f"/jobs/{job['id']}"

    assert ask("POST", f"{path}/run").json()["next_run_at"] < job["next_run_at"]
    problem(ask("POST", f"{path}/redrive"), 409)
    Job.objects.update(status=Status.DEAD)
    assert ask("POST", f"{path}/redrive").json()["status"] == "pending"
    Job.objects.update(status=Status.DEAD)
    assert ask("POST", f"{path}/drop").json()["status"] == "dropped"


@pytest.mark.parametrize("job_id", ["2958c8dc-7db5-41a2-9f24-7f2d4c0f0c82", "-" * 36, "7"])
def test_a_job_that_is_not_there_is_a_404(ask: Ask, job_id: str) -> None:
    problem(ask("GET", f"/jobs/{job_id}"), 404)


def test_a_method_that_an_address_does_not_take_is_a_405(ask: Ask) -> None:
    problem(ask("DELETE", "/jobs"), 405)


def test_attempts_are_listed_page_by_page_the_oldest_first(ask: Ask, biz_type: BizType) -> None:
    job = ask("POST", "/jobs", {"biz_type": "order.close"}).json()
    Attempt.objects.bulk_create(
        Attempt(job_id=job["id"], number=number, started_at=timezone.now(), duration_ms=5, lateness_ms=2)
        for number in range(1, 6)
    )

    page = ask("GET", f"/jobs/{job['id']}/attempts?limit=3").json()
    rest = ask("GET", page["next"].partition("/api/v1")[2]).json()

    assert [attempt["number"] for attempt in page["results"] + rest["results"]] == [1, 2, 3, 4, 5]
    assert rest["next"] is None
    assert set(page["results"][0]) == set(AttemptSerializer().fields)
    assert ask("GET", f"/jobs/{job['id']}/attempts?after=3").status_code == 400


def test_what_is_shown_of_a_job_is_what_the_schema_says(ask: Ask, biz_type: BizType) -> None:
    job = ask("POST", "/jobs", {"biz_type": "order.close", "delay": 60}).json()
    read = ask("GET", f"/jobs/{job['id']}").json()

    assert set(read) == set(JobSerializer().fields)
    assert JobSerializer().fields["id"].to_representation(Job.objects.get().id) == read["id"]
