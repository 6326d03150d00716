"""How a test call, and the rotation of a secret, look from outside."""

from __future__ import annotations

from typing import Any

from delayhub.api_models.biz_types import RotatedSecret, TestCall, TestRequest, TestResponse
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.biz_types.sample_call import SampleAnswer
from tasksapp.models import BizType


def sample_json(answer: SampleAnswer) -> dict[str, Any]:
    """A test call, as :class:`TestCall` describes it."""
    request, received = answer.request, None
    sent = request and json_of(TestRequest, request, headers=dict(request.headers), body=answer.body)
    if answer.status_code is not None:
        headers, body = answer.response_headers, answer.response_body
        received = json_of(TestResponse, status_code=answer.status_code, headers=headers, body=body)
    return json_of(TestCall, answer, request=sent, response=received)


def rotated_json(biz_type: BizType, *, secret: str | None) -> dict[str, Any]:
    """A rotation, as :class:`RotatedSecret` describes it."""
    return json_of(RotatedSecret, biz_type, signing_secret=secret)


_EXAMPLE: dict[str, Any] = {
    "verdict": "succeeds",
    "reason": "",
    "address": "allowed",
    "is_sent": True,
    "request": {
        "line": "POST https://shop.example/hooks/close",
        "headers": {"content-type": "application/json", "delayhub-test": "1", "webhook-signature": "…"},
        "body": '{"test": true, "order": 42}',
    },
    "response": {"status_code": 200, "headers": {"content-type": "text/plain"}, "body": "ok"},
    "duration_ms": 41,
    "timeout_seconds": 10.0,
    "cancels_others": False,
}
SentRequestSerializer = serializer_of(TestRequest, name="SentRequest", example=_EXAMPLE["request"])
ReceivedAnswerSerializer = serializer_of(TestResponse, name="ReceivedAnswer", example=_EXAMPLE["response"])
TestCallSerializer = serializer_of(TestCall, example=_EXAMPLE)
RotatedSecretSerializer = serializer_of(
    RotatedSecret,
    example={
        "signing_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "previous_secret_until": "2027-02-01T08:30:00Z",
    },
)
