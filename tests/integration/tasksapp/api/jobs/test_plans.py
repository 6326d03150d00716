"""Plans, resolves and lifts over REST, as ``plan_requests`` reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tasksapp.models import BizType, Job, Status
from tests.fixture_types import Ask, MakeBizType
from tests.integration.tasksapp.api.problem_documents import problem
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

STEPS = [
    {"biz_type": "order.remind", "delay": 1500, "body": {"total": 100}},
    {"biz_type": "order.close", "delay": 1800, "priority": 1},
]


@pytest.fixture(autouse=True)
def biz_types(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.remind")


def test_a_plan_is_made_once_resolved_as_a_whole_and_lifted(ask: Ask) -> None:
    raw = (
        '{"biz_id": "42", "jobs": [{"biz_type": "order.remind", "delay": 9, "body": {"total": 1e2}},'
        ' {"biz_type": "order.close"}]}'
    )
    made = ask("POST", "/plans", raw, **{"idempotency-key": '"pay-42"'})
    again = ask("POST", "/plans", raw, **{"idempotency-key": '"pay-42"'})
    answer = made.json()
    key = {"biz_types": answer["biz_types"], "biz_id": "42"}

    resolved = ask("POST", "/resolve", {**key, "reason": "paid", "outcome": None, "body": None}).json()
    refused = problem(ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": "42"}), 409)
    lifted = ask("POST", "/resolve/lift", key).json()

    ids = [job["id"] for job in answer["jobs"]]
    assert made.status_code == 201
    assert [job["id"] for job in again.json()["jobs"]] == ids
    assert Job.objects.get(id=ids[0]).body == '{"total": 1e2}'
    assert (resolved["accepted"], sorted(resolved["cancelled"]), resolved["running"]) == (True, sorted(ids), [])
    assert refused["code"] == "resolved"
    assert lifted == {"lifted": 2}
    assert ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": "42"}).status_code == 201


def test_a_plan_is_not_made_again_when_one_of_its_jobs_has_been_deleted(ask: Ask) -> None:
    plan, key = {"biz_id": "42", "jobs": STEPS}, {"idempotency-key": '"pay-42"'}
    _, gone = ask("POST", "/plans", plan, **key).json()["jobs"]
    Job.objects.filter(id=gone["id"]).delete()

    again = problem(ask("POST", "/plans", plan, **key), 409)

    assert (again["code"], again["job_id"]) == ("job_deleted", gone["id"])
    assert Job.objects.count() == 1


def test_where_a_job_of_a_plan_is_refused_none_is_made(ask: Ask) -> None:
    problem(ask("POST", "/plans", {"biz_id": "42", "jobs": [STEPS[0], {**STEPS[1], "delay": -1}]}), 400)

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
        ("/plans", {"jobs": STEPS}, "biz_id"),
        ("/plans", {"biz_id": "42", "jobs": []}, "jobs"),
        ("/plans", {"biz_id": "42", "jobs": [7]}, "jobs"),
        ("/plans", {"biz_id": "42", "jobs": [{"delay": 5}]}, "biz_type"),
        ("/plans", {"biz_id": "42", "jobs": [{**STEPS[0], "debounce_key": "k"}]}, "debounce_key"),
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


def test_each_job_of_a_plan_may_have_its_own_request_and_exact_bytes(ask: Ask) -> None:
    steps = [
        {"biz_type": "order.remind", "delay": 1500, "request": {"timeout_seconds": 3}, "body_text": "<a/>\r\n"},
        {"biz_type": "order.close", "delay": 1800, "body_base64": "AP8=", "content_type": "image/png"},
    ]

    remind, close = ask("POST", "/plans", {"biz_id": "42", "jobs": steps}).json()["jobs"]

    assert (remind["request"], remind["body_text"]) == ({"timeout_seconds": 3.0}, "<a/>\r\n")
    assert (close["request"], close["body_base64"], close["content_type"]) == (None, "AP8=", "image/png")
    for wrong in ({"request": {"timeout_seconds": 99}}, {"body_text": "a", "body": 1}, {"body_base64": "?"}):
        problem(ask("POST", "/plans", {"biz_id": "43", "jobs": [steps[1], {**STEPS[0], **wrong}]}), 400)
    assert Job.objects.count() == 2


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
