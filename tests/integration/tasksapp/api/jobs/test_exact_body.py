"""Bodies of exact bytes over REST: stored, shown, signed and sent as they came, or refused in clear words."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from delayhub.receiver import Verifier
from tasksapp import jobs
from tasksapp.models import Attempt, BizType, Job, Status
from tests.fixture_types import Ask, Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver, answering, no_content

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "whsec_" + "c2VjcmV0" * 4
#: What a column of text could not hold: NUL, bytes that are no UTF-8, and line ends of all kinds.
BINARY = b'\x00\xff\xfe<a b="c">\r\n\x80\xe4\n'
TEXT = "<?xml version='1.0'?>\r\n<a b=\"c\">1e2 \u0000 \u4f60</a>\n"


def binary(**fields: Any) -> dict[str, Any]:
    """A job with bytes that are no text."""
    body = {"body_base64": b64encode(BINARY).decode(), "content_type": "application/x-protobuf"}
    return {"biz_type": "order.close", **body, **fields}


@pytest.fixture
def signed(make_biz_type: MakeBizType, receiver: Receiver) -> BizType:
    """A biz type whose callbacks come to the receiver, signed."""
    biz_type = make_biz_type("order.close", url=receiver.url())
    biz_type.signing_secret = SECRET
    biz_type.save()
    return biz_type


def test_bytes_are_signed_and_sent_as_they_are_with_their_content_type(
    ask: Ask, signed: BizType, receiver: Receiver, fire: Fire, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "KEPT_EXCHANGES": "all"}
    made = [
        ask("POST", "/jobs", binary(biz_id="1")).json(),
        ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": "2", "body_text": TEXT}).json(),
        ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": "3", "body_text": ""}).json(),
    ]
    many = [binary(biz_id=str(number)) for number in range(4, 30)]  # so many that PostgreSQL gets them by COPY
    assert ask("POST", "/jobs/bulk", {"jobs": many}).status_code == 201

    while len(receiver.received) < 29:
        fire()

    sent = {received.headers["webhook-id"]: received for received in receiver.received}
    plain = "text/plain; charset=utf-8"
    expected = [(BINARY, "application/x-protobuf"), (TEXT.encode(), plain), (b"", plain)]
    for job, (body, kind) in zip(made, expected, strict=True):
        assert (sent[job["id"]].body, sent[job["id"]].headers["Content-Type"]) == (body, kind)
    for received in receiver.received:
        signature = {name.lower(): value for name, value in received.headers.items()}
        assert Verifier(SECRET).verify(signature, received.body).body == received.body
        if received.body == TEXT.encode():
            # The public library finds the signature right, and then reads JSON.
            with pytest.raises(json.JSONDecodeError):
                Webhook(SECRET).verify(received.body, signature)
    assert sum(received.body == BINARY for received in receiver.received) == 27
    kept = Attempt.objects.get(job_id=made[0]["id"])
    assert "application/x-protobuf" in json.dumps(kept.request_headers)


def test_answers_show_a_text_as_text_and_other_bytes_in_base64(ask: Ask, biz_type: BizType) -> None:
    made = ask("POST", "/jobs", binary(delay=60)).json()
    shown = TEXT.replace("\0", "")  # with NUL, a text is shown as other bytes are
    text = ask("POST", "/jobs", {"biz_type": "order.close", "delay": 60, "body_text": shown}).json()
    plain = ask("POST", "/jobs", {"biz_type": "order.close", "delay": 60, "body": {"order": 1}}).json()

    for answer in (made, ask("GET", f"/jobs/{made['id']}").json()):
        assert (answer["body"], answer["body_text"], answer["request"]) == (None, None, None)
        assert (answer["body_base64"], answer["content_type"]) == (b64encode(BINARY).decode(), "application/x-protobuf")
    assert (text["body_text"], text["body_base64"]) == (shown, None)
    assert [plain[name] for name in ("body_text", "body_base64", "content_type")] == [None] * 3
    assert plain.keys() == made.keys()
    found = ask("GET", "/jobs?biz_type=order.close&status=pending&body=%3Ca+b%3D%22c%22").json()
    assert {job["id"] for job in found["results"]} == {made["id"], text["id"]}


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"body": {}, "body_text": "x"}, "body_text", "give body or body_text, not both"),
        ({"body": 0, "body_base64": ""}, "body_base64", "give body or body_base64, not both"),
        ({"body_text": "", "body_base64": ""}, "body_text", "give body_text or body_base64, not both"),
        ({"body_base64": "YQ"}, "body_base64", "padding"),
        ({"body_base64": "Y Q=="}, "body_base64", "base64"),
        ({"body_base64": "_-8="}, "body_base64", "base64"),  # the alphabet for addresses
        ({"body_base64": "ä"}, "body_base64", "base64"),
        ({"body_text": 1}, "body_text", "must be a string"),
        ({"body_text": "x", "content_type": "text"}, "content_type", "media type"),
        ({"body_text": "x", "content_type": "text/plain\r\nX: 1"}, "content_type", "media type"),
        ({"body_text": "x", "content_type": "text/plain; charset=ä"}, "content_type", "media type"),
        ({"body_text": "x", "content_type": "text/plain\n"}, "content_type", "media type"),
        ({"body": {}, "content_type": "text/plain"}, "content_type", "JSON has its own"),
        ({"body_text": "x" * 65_537}, "body", "body may have 65536 bytes, got 65537"),
        ({"body_text": "ä" * 32_769}, "body", "got 65538"),
        ({"body_base64": b64encode(b"\x00" * 65_537).decode()}, "body", "got 65537"),
        ({"raw": "x"}, "raw", "no field"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_field(
    ask: Ask, biz_type: BizType, fields: dict[str, Any], field: str, told: str
) -> None:
    job = {"biz_type": "order.close", "delay": 60, **fields}

    one, many = ask("POST", "/jobs", job), ask("POST", "/jobs/bulk", {"jobs": [job]})

    assert (one.status_code, many.status_code) == (400, 207)
    for problem in (one.json(), many.json()["results"][0]["error"]):
        (error,) = problem["errors"]
        assert (error["field"], told in error["message"]) == (field, True), error
    assert not Job.objects.exists()


def test_as_many_bytes_as_json_may_have_fit(ask: Ask, biz_type: BizType) -> None:
    answer = ask("POST", "/jobs", binary(delay=60, body_base64=b64encode(b"\xff" * 65_536).decode()))

    assert (answer.status_code, len(bytes(Job.objects.get().raw or b""))) == (201, 65_536)


def test_the_same_key_with_other_bytes_is_another_request(ask: Ask, biz_type: BizType) -> None:
    first = ask("POST", "/jobs", binary(delay=60, idempotency_key="k"))

    again = ask("POST", "/jobs", binary(delay=60, idempotency_key="k"))
    others = [
        binary(delay=60, idempotency_key="k", body_base64=b64encode(BINARY + b" ").decode()),
        binary(delay=60, idempotency_key="k", content_type="application/json"),
        {"biz_type": "order.close", "delay": 60, "idempotency_key": "k"},
    ]

    assert (first.status_code, again.status_code, again.json()["id"]) == (201, 200, first.json()["id"])
    assert [ask("POST", "/jobs", other).status_code for other in others] == [422] * 3


def test_a_change_puts_bytes_in_the_place_of_json_and_back(ask: Ask, biz_type: BizType) -> None:
    own = {"timeout_seconds": 3.0}
    path = f"/jobs/{ask('POST', '/jobs', binary(delay=60, request=own)).json()['id']}"

    kind = ask("PATCH", path, {"content_type": "image/png"}).json()
    text = ask("PATCH", path, {"body_text": "<a/>\r\n", "priority": 1}).json()
    unasked = ask("PATCH", path, {"request": {"timeout_seconds": 2}}).json()
    back = ask("PATCH", path, {"body": {"order": 1}}).json()

    assert (kind["content_type"], kind["body_base64"], kind["request"]) == (
        "image/png", b64encode(BINARY).decode(), own,
    )  # fmt: skip
    assert (text["body_text"], text["content_type"], text["request"]) == ("<a/>\r\n", "text/plain; charset=utf-8", own)
    assert (unasked["body_text"], unasked["request"]) == ("<a/>\r\n", {"timeout_seconds": 2.0})
    assert (back["body"], back["body_text"], back["content_type"]) == ({"order": 1}, None, None)
    assert Job.objects.get().raw is None
    for fields in ({"content_type": "image/png"}, {"body": 1, "body_text": "x"}, {"body_base64": "?"}):
        assert ask("PATCH", path, fields).status_code == 400


def test_bytes_stay_as_they_are_through_retry_redrive_and_running_again(
    ask: Ask, signed: BizType, receiver: Receiver, fire: Fire
) -> None:
    receiver.answer = answering(500)
    job_id = ask("POST", "/jobs", binary(max_attempts=1)).json()["id"]
    while not Job.objects.filter(status=Status.DEAD):
        fire()
    receiver.answer = no_content

    jobs.redrive(Job.objects.get().id)
    while not Job.objects.filter(status=Status.SUCCEEDED):
        fire()
    jobs.run_again(Job.objects.get().id)
    while Job.objects.exclude(status=Status.SUCCEEDED).exists():
        fire()

    assert [received.body for received in receiver.received] == [BINARY] * 3
    assert {received.headers["Content-Type"] for received in receiver.received} == {"application/x-protobuf"}
    assert [received.headers["webhook-id"] == job_id for received in receiver.received] == [True, True, False]
