"""How an attempt looks from outside."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers

from tasksapp.api.representation.timestamp import timestamp
from tasksapp.jobs.attempt_headers import attempt_headers
from tasksapp.models import Attempt


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    """An attempt, as :class:`AttemptSerializer` describes it."""
    return {
        "number": attempt.number,
        "started_at": timestamp(attempt.started_at),
        "duration_ms": attempt.duration_ms,
        "lateness_ms": attempt.lateness_ms,
        "request_line": attempt.request_line,
        "request_headers": attempt_headers(attempt),
        "status_code": attempt.status_code,
        "response_headers": attempt.response_headers,
        "response_body": attempt.response_body,
        "error": attempt.error,
        "worker": attempt.worker,
    }


class AttemptSerializer(serializers.Serializer[Any]):
    """One attempt to deliver a job."""

    example = attempt_json(
        Attempt(
            number=1,
            started_at=datetime(2027, 1, 31, 8, 30, 0, 13_000, tzinfo=UTC),
            duration_ms=41,
            lateness_ms=13,
            request_line="POST https://shop.example/hooks HTTP/1.1",
            request_headers={"Content-Type": "application/json", "Authorization": "Bearer (hidden)"},
            status_code=503,
            response_headers={"content-type": "text/plain"},
            response_body="try again later",
            error="the receiver answered 503",
            worker="worker-1",
        )
    )

    number = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    duration_ms = serializers.IntegerField()
    lateness_ms = serializers.IntegerField()
    request_line = serializers.CharField(
        allow_blank=True, help_text="Method and address, as sent; empty for a task, and where nothing was sent."
    )
    request_headers = serializers.DictField(child=serializers.CharField(), help_text="As sent, secrets masked.")
    status_code = serializers.IntegerField(allow_null=True)
    response_headers = serializers.DictField(child=serializers.CharField())
    response_body = serializers.CharField(allow_blank=True)
    error = serializers.CharField(allow_blank=True)
    worker = serializers.CharField(allow_blank=True)
