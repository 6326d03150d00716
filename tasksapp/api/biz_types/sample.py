"""How a test call, and the rotation of a secret, look from outside."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from tasksapp.api.http.timestamp import timestamp
from tasksapp.biz_types.sample_call import AddressVerdict, SampleAnswer, Verdict
from tasksapp.models import BizType


def sample_json(answer: SampleAnswer) -> dict[str, Any]:
    """A test call, as :class:`TestCallSerializer` describes it."""
    request = answer.request
    sent = None
    if request is not None:
        sent = {"line": request.line, "headers": dict(request.headers), "body": answer.body}
    received = None
    if answer.status_code is not None:
        received = {
            "status_code": answer.status_code,
            "headers": answer.response_headers,
            "body": answer.response_body,
        }
    return {
        "verdict": answer.verdict.value,
        "reason": answer.reason,
        "address": answer.address.value,
        "is_sent": answer.is_sent,
        "request": sent,
        "response": received,
        "duration_ms": answer.duration_ms,
        "timeout_seconds": answer.timeout_seconds,
        "cancels_others": answer.cancels_others,
    }


def rotated_json(biz_type: BizType, *, secret: str | None) -> dict[str, Any]:
    """A rotation, as :class:`RotatedSecretSerializer` describes it."""
    return {"signing_secret": secret, "previous_secret_until": timestamp(biz_type.previous_secret_until)}


class SentRequestSerializer(serializers.Serializer[Any]):
    """The request that was sent, with its credentials masked."""

    line = serializers.CharField(help_text="Method and address.")
    headers = serializers.DictField(child=serializers.CharField())
    body = serializers.CharField(allow_blank=True)


class ReceivedAnswerSerializer(serializers.Serializer[Any]):
    """What the receiver answered."""

    status_code = serializers.IntegerField()
    headers = serializers.DictField(child=serializers.CharField())
    body = serializers.CharField(allow_blank=True, help_text="As much of it as is kept of a job's answer.")


class TestCallSerializer(serializers.Serializer[Any]):
    """What became of a test call."""

    example = {
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

    verdict = serializers.ChoiceField(
        choices=[each.value for each in Verdict], help_text="What a job's attempt would come to."
    )
    reason = serializers.CharField(allow_blank=True, help_text="Why, where it does not succeed.")
    address = serializers.ChoiceField(
        choices=[each.value for each in AddressVerdict], help_text="Whether callbacks may go to that address."
    )
    is_sent = serializers.BooleanField(help_text="Whether the receiver may have got some of it.")
    request = SentRequestSerializer(allow_null=True, help_text="Null: none could be made.")
    response = ReceivedAnswerSerializer(allow_null=True, help_text="Null: there was no answer.")
    duration_ms = serializers.IntegerField()
    timeout_seconds = serializers.FloatField(help_text="How long it would have waited.")
    cancels_others = serializers.BooleanField(
        help_text="Whether the answer asks to cancel the other jobs of the same business key."
    )


class RotatedSecretSerializer(serializers.Serializer[Any]):
    """A new signing secret."""

    example = {
        "signing_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "previous_secret_until": "2027-02-01T08:30:00Z",
    }

    signing_secret = serializers.CharField(allow_null=True, help_text="Shown this once. Null: the caller brought it.")
    previous_secret_until = serializers.DateTimeField(
        allow_null=True, help_text="Until then callbacks have both signatures. Null: there is no other secret."
    )
