"""Creating jobs over REST: the direct view answers what REST framework's dispatch answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import resolve
from standardwebhooks.webhooks import Webhook

from tasksapp import jobs
from tasksapp.api.jobs.requests import JobRequestSerializer
from tasksapp.api.jobs.views import JobViews
from tasksapp.jobs.requests import RULES
from tasksapp.models import BizType, Job
from tests.fixture_types import Ask, Fire, MakeBizType
from tests.integration.tasksapp.api.problem_documents import problem
from tests.integration.tasksapp.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)

DISPATCHED = {
    "/api/v1/jobs": JobViews.as_view({"post": "create"}),
    "/api/v1/jobs/bulk": JobViews.as_view({"post": "bulk"}),
}
GOOD = {"biz_type": "order.close", "biz_id": "42", "delay": 60, "body": {"order": [1, "ä"]}}
#: What differs from one job to the next.
FLEETING = {"id", "job_id", "due_at", "next_run_at", "created_at", "updated_at", "detail", "errors"}


def both(path: str, raw: bytes, **headers: str) -> tuple[HttpResponse, HttpResponse]:
    """The answers of the direct view and of REST framework's dispatch."""
    headers.setdefault("x-request-id", "r-1")
    request = RequestFactory().post(path, raw, content_type=headers.pop("type", "application/json"), headers=headers)
    direct = resolve(path).func(request)
    request = RequestFactory().post(path, raw, content_type=request.content_type, headers=headers)
    return direct, DISPATCHED[path](request)


def told(response: HttpResponse, *, leave_out: set[str] = frozenset()) -> tuple[Any, ...]:  # type: ignore[assignment]  # frozen
    """What a caller gets to know."""
    answer = json.loads(response.content)
    kept = {name: value for name, value in answer.items() if name not in leave_out}
    headers = [response.get(name) for name in ("Content-Type", "WWW-Authenticate", "Retry-After")]
    return response.status_code, headers, kept, sorted(answer)


def test_a_bulk_may_have_so_many_bytes_and_not_one_more(ask: Any, biz_type: BizType, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "BULK_BYTES": 65_536}
    raw = json.dumps({"jobs": [GOOD]}).encode().ljust(65_536)

    refused = problem(ask("POST", "/jobs/bulk", raw + b" "), 413)

    assert refused["detail"] == "The body may have 65536 bytes, got 65537."
    assert not Job.objects.exists()
    assert ask("POST", "/jobs/bulk", raw).json()["created"] == 1


def test_a_bulk_of_too_many_jobs_is_refused_before_they_are_read(ask: Any, biz_type: BizType) -> None:
    refused = problem(ask("POST", "/jobs/bulk", b'{"jobs": [' + b"[]," * 500_000 + b"[]]}"), 400)

    assert refused["errors"][0]["field"] == "jobs"
    assert "1 to 1000 jobs" in refused["detail"]
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"biz_type": "unknown"},
        {"biz_type": None},
        {"biz_type": ["order.close"]},
        {"biz_type": "order.close\0"},
        {**GOOD, "biz_id": 7},
        {**GOOD, "biz_id": "x" * 201},
        {**GOOD, "biz_id": "\x07"},
        {**GOOD, "delay": -1},
        {**GOOD, "delay": "soon"},
        {**GOOD, "delay": 10**400},
        {**GOOD, "due_at": "2027-01-01T00:00:00Z"},
        {**GOOD, "delay": None, "due_at": "2027-01-01T00:00:00"},
        {**GOOD, "delay": None, "due_at": 5},
        {**GOOD, "body": "\x00"},
        {**GOOD, "body": 2**64},
        {**GOOD, "body": "x" * 70_000},
        {**GOOD, "priority": True},
        {**GOOD, "priority": 10},
        {**GOOD, "max_attempts": 0.5},
        {**GOOD, "idempotency_key": ""},
        {**GOOD, "colour": "red", "x" * 200: 1},
    ],
)
def test_a_bad_field_is_refused_in_the_same_words_either_way(key: str, biz_type: BizType, fields: Any) -> None:
    one = both("/api/v1/jobs", json.dumps(fields).encode(), authorization=f"Bearer {key}")
    many = both("/api/v1/jobs/bulk", json.dumps({"jobs": [fields]}).encode(), authorization=f"Bearer {key}")

    assert one[0].status_code == 400
    assert told(one[0]) == told(one[1])
    assert many[0].status_code == 207
    assert told(many[0]) == told(many[1])
    assert json.loads(many[0].content)["results"][0]["error"] == json.loads(one[0].content)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("raw", "headers", "status"),
    [
        (b"{}", {"authorization": ""}, 401),
        (b"{}", {"authorization": "Bearer dh_wrong"}, 401),
        (b"{}", {"type": "text/plain"}, 415),
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b'{"a": 1, "a": 1}', {}, 400),
        (b" " * 300_000, {}, 413),
    ],
)
def test_a_bad_request_is_refused_in_the_same_words_either_way(
    key: str, raw: bytes, headers: dict[str, str], status: int
) -> None:
    short, long = both("/api/v1/jobs", raw, **{"authorization": f"Bearer {key}", **headers})

    assert short.status_code == status
    assert told(short) == told(long)


def test_a_good_request_is_answered_in_the_same_way_either_way(key: str, ask: Any, biz_type: BizType) -> None:
    raw = json.dumps(GOOD).encode()
    short, long = both("/api/v1/jobs", raw, authorization=f"Bearer {key}")
    made, again = both("/api/v1/jobs", raw, authorization=f"Bearer {key}", **{"idempotency-key": "k"})

    assert (short.status_code, made.status_code, again.status_code) == (201, 201, 200)
    assert told(short, leave_out=FLEETING) == told(long, leave_out=FLEETING)
    # The first answer is made without reading the row; the second one reads it.
    assert {**json.loads(made.content), "created": False} == json.loads(again.content)


def test_a_used_up_insert_rate_says_when_to_come_back_either_way(key: str, ask: Any, biz_type: BizType) -> None:
    BizType.objects.update(insert_rate=0.001, insert_burst=1)

    assert ask("POST", "/jobs", GOOD).status_code == 201
    refusals = both("/api/v1/jobs", json.dumps(GOOD).encode(), authorization=f"Bearer {key}")

    assert [refusal.status_code for refusal in refusals] == [429, 429]
    assert [int(refusal["Retry-After"]) > 900 for refusal in refusals] == [True, True]
    assert told(refusals[0], leave_out=FLEETING)[2:] == told(refusals[1], leave_out=FLEETING)[2:]


def test_the_serializer_that_describes_a_job_has_the_fields_that_the_rules_judge() -> None:
    assert set(JobRequestSerializer().fields) == RULES.keys() - {"traceparent", "raw"} | {"body_text", "body_base64"}


def test_a_failure_on_our_side_is_logged_and_gives_no_details(
    ask: Any, biz_type: BizType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("a secret")

    monkeypatch.setattr(jobs, "create_many", broken)
    response = ask("POST", "/jobs", GOOD)

    assert response.status_code == 500
    assert b"secret" not in response.content
    assert "a secret" in caplog.text


#: Written again from their values, these would be 100.0, {"a": 1.0} and "ä/".
WRITTEN = ["1e2", '{ "a" : 1.00 }', '"\\u00e4\\/"']


@pytest.mark.parametrize("body", WRITTEN)
def test_a_body_is_stored_as_its_caller_wrote_it_either_way(key: str, biz_type: BizType, body: str) -> None:
    job = f'{{"biz_type": "order.close", "delay": 60, "body": {body} }}'
    auth = f"Bearer {key}"

    one = both("/api/v1/jobs", job.encode(), authorization=auth)
    many = both("/api/v1/jobs/bulk", f'{{"jobs": [{job}, {job}]}}'.encode(), authorization=auth)

    assert [answer.status_code for answer in (*one, *many)] == [201] * 4
    assert list(Job.objects.values_list("body", flat=True)) == [body] * 6
    assert json.loads(one[0].content)["body"] == json.loads(body)


def test_a_body_is_signed_and_sent_as_its_caller_wrote_it(
    ask: Ask, make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    secret = "whsec_" + "c2VjcmV0" * 4
    biz_type = make_biz_type("order.close", url=receiver.url())
    biz_type.signing_secret = secret
    biz_type.save()
    job = '{"biz_type": "order.close", "body": { "price" : 1e2, "odd":"\\u00e4" }}'

    assert ask("POST", "/jobs", job).status_code == 201
    assert ask("POST", "/jobs/bulk", f'{{"jobs": [{job}]}}').status_code == 201
    while len(receiver.received) < 2:
        fire()

    for received in receiver.received:
        assert received.body == b'{ "price" : 1e2, "odd":"\\u00e4" }'
        Webhook(secret).verify(received.body, {name.lower(): value for name, value in received.headers.items()})


def test_the_same_body_in_other_letters_is_the_same_request(ask: Ask, biz_type: BizType) -> None:
    job = '{"biz_type": "order.close", "delay": 60, "idempotency_key": "42", "body": %s}'

    first = ask("POST", "/jobs", job % '{"a":100.0,"b":2}')
    again = ask("POST", "/jobs", job % '{ "b": 2, "a": 1e2 }')
    other = ask("POST", "/jobs", job % '{ "b": 2, "a": 1e3 }')

    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 422)
    assert again.json()["id"] == first.json()["id"]
    assert Job.objects.get().body == '{"a":100.0,"b":2}'


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("1e400", "invalid"),
        ('"\\u0000"', "nul"),
        ("[" * 33 + "]" * 33, "too_deep"),
        (f"1{'0' * 20}", "number"),
        (f'"{" " * 65_536}"', "too_large"),
        (f'{{"a":{" " * 65_536}1}}', "too_large"),
    ],
)
def test_a_body_as_written_obeys_the_rules_of_all(ask: Ask, biz_type: BizType, body: str, code: str) -> None:
    answer = ask("POST", "/jobs", f'{{"biz_type": "order.close", "body": {body}}}')

    assert answer.status_code == 400
    assert [error["code"] for error in answer.json()["errors"]] == [code]
