"""Jobs of one business key over REST: created together, resolved, and lifted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tasksapp.models import BizType, Job, Status
from tests.fixture_types import Ask, MakeBizType
from tests.integration.tasksapp.api.problem_documents import problem
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

JOBS = [
    {"biz_type": "order.remind", "biz_id": "42", "delay": 1500, "body": {"total": 100}},
    {"biz_type": "order.close", "biz_id": "42", "delay": 1800, "priority": 1},
]
TOGETHER = {"jobs": JOBS, "together": True}


@pytest.fixture(autouse=True)
def biz_types(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.remind")


def test_jobs_of_one_key_are_created_once_resolved_and_lifted(ask: Ask) -> None:
    made = ask("POST", "/jobs/bulk", TOGETHER, **{"idempotency-key": '"pay-42"'})
    again = ask("POST", "/jobs/bulk", TOGETHER, **{"idempotency-key": '"pay-42"'})
    key = {"biz_types": ["order.remind", "order.close"], "biz_id": "42"}

    resolved = ask("POST", "/resolve", {**key, "reason": "paid", "outcome": None, "body": None}).json()
    refused = problem(ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": "42"}), 409)
    lifted = ask("POST", "/resolve/lift", key).json()

    ids = [one["id"] for one in made.json()["results"]]
    assert made.status_code == again.status_code == 201
    assert [one["id"] for one in again.json()["results"]] == ids
    assert (resolved["accepted"], sorted(resolved["cancelled"]), resolved["running"]) == (True, sorted(ids), [])
    assert refused["code"] == "resolved"
    assert lifted == {"lifted": 2}
    assert ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": "42"}).status_code == 201


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        # Refused as it is read.
        ({"delay": "soon"}, "jobs[1]"),
        # Refused by its rule.
        ({"delay": -1}, "jobs[1]"),
        # Refused by what the database knows.
        ({"biz_type": "no.such"}, "jobs[1]"),
    ],
)
def test_none_is_created_together_if_one_is_refused(ask: Ask, wrong: dict[str, Any], said: str) -> None:
    refused = problem(ask("POST", "/jobs/bulk", {**TOGETHER, "jobs": [JOBS[0], {**JOBS[1], **wrong}]}), 400)

    assert said in refused["detail"]
    assert refused["errors"][0]["field"] == next(iter(wrong))
    assert not Job.objects.exists()


def test_a_redrive_is_refused_unless_it_lifts(ask: Ask, biz_type: BizType) -> None:
    dead, other = (store_job(biz_type, Status.DEAD, biz_id="42") for _ in range(2))
    ask("POST", "/resolve", {"biz_types": ["order.close"], "biz_id": "42"})

    refused = problem(ask("POST", f"/jobs/{dead.id}/redrive"), 409)
    Job.objects.filter(id=other.id).update(status=Status.DROPPED)
    by_key = ask("POST", "/biz-types/order.close/jobs/42/redrive", {"lift": True})

    assert refused["code"] == "resolved"
    assert by_key.json()["status"] == "pending"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/jobs/bulk", {**TOGETHER, "together": "yes"}, "together"),
        ("/resolve", {"biz_id": "42"}, "biz_types"),
        ("/resolve", {"biz_types": "order.close", "biz_id": "42"}, "biz_types"),
        ("/resolve", {"biz_types": ["no.such"], "biz_id": "42"}, "biz_types"),
        ("/resolve", {"biz_types": ["order.close"], "biz_id": ""}, "biz_id"),
        ("/resolve/lift", {"biz_types": ["order.close"]}, "biz_id"),
        ("/resolve/lift", {"biz_types": ["order.close"], "biz_id": "42", "reason": 7}, "reason"),
    ],
)
def test_a_request_that_says_too_little_names_the_field(ask: Ask, path: str, body: Any, field: str) -> None:
    refused = problem(ask("POST", path, body), 400)

    assert refused["errors"][0]["field"] == field


def test_a_resolve_answers_what_waits_for_an_answer(ask: Ask, biz_type: BizType) -> None:
    BizType.objects.filter(code="order.close").update(on_resolved="order.remind")
    job = store_job(biz_type, biz_id="42")
    said = {"biz_types": ["order.close"], "biz_id": "42", "outcome": "approved", "body": {"by": [None]}}

    first, again = ask("POST", "/resolve", said).json(), ask("POST", "/resolve", said)
    other = problem(ask("POST", "/resolve", {**said, "outcome": "rejected"}), 409)
    lifted = problem(ask("POST", "/resolve/lift", {"biz_types": ["order.close"], "biz_id": "42"}), 409)
    before = ask("POST", "/resolve", {**said, "biz_id": "43"}).json()
    born = ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": "43", "delay": 60})

    assert (first["answered"], first["status"], first["too_late"]) == (str(job.id), "cancelled", False)
    assert (again.status_code, again.json()["cancelled"]) == (200, [])
    assert (other["code"], other["outcome"], other["job_id"]) == ("answered", "approved", str(job.id))
    assert lifted["code"] == "answered"
    assert (before["answered"], before["status"]) == (None, "")
    assert (born.status_code, born.json()["status"], born.json()["last_error"]) == (201, "cancelled", "resolved")
    follow_ups = Job.objects.filter(biz_type__code="order.remind")
    assert [json.loads(job.body)["follows"]["answer"]["body"] for job in follow_ups] == [{"by": [None]}] * 2


@pytest.mark.parametrize(
    ("said", "field"), [({"outcome": "x" * 101}, "outcome"), ({"outcome": 7}, "outcome"), ({"body": "\0"}, "body"),
                        ({"outcome": "a\nb"}, "outcome"),
                        ({"outcome": "approved", "biz_types": ["order.remind"]}, "outcome")],
)  # fmt: skip
def test_an_answer_that_cannot_be_names_its_field(ask: Ask, said: dict[str, Any], field: str) -> None:
    BizType.objects.filter(code="order.close").update(on_resolved="order.remind")

    refused = problem(ask("POST", "/resolve", {"biz_types": ["order.close"], "biz_id": "42", **said}), 400)

    assert refused["errors"][0]["field"] == field
