"""What callers may send: the fields of each request, checked by ``tasksapp.jobs.validation``, and their OpenAPI."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rest_framework import serializers

from tasksapp.api.http.problems import FieldError, Problem, Refused
from tasksapp.jobs import validation as rules
from tasksapp.jobs.creation import JobRequest

JOB_FIELDS = frozenset(rules.RULES)
MOVE_FIELDS = frozenset({"due_at", "delay", "version"})
VERB_FIELDS = frozenset({"version"})
#: Jobs that one bulk request may create.
MAX_BULK = 1_000


def job_request(fields: Any, *, key: str | None = None, traceparent: str = "") -> JobRequest:
    """A request for a job; unknown and missing fields are Refused, all others are for the rules to judge."""
    if not isinstance(fields, dict):
        raise refused(None, "invalid", "A job must be a JSON object.")
    only_known(fields, JOB_FIELDS)
    if "biz_type" not in fields:
        raise refused("biz_type", "required", "biz_type is required")
    if key is not None and fields.setdefault("idempotency_key", key) != key:
        raise refused("idempotency_key", "conflict", "idempotency_key differs from the header Idempotency-Key")
    return JobRequest(**fields, traceparent=traceparent)


def only_known(fields: dict[str, Any], known: Collection[str]) -> None:
    """Refuses fields that mean nothing here, naming them."""
    unknown = [name for name in fields if name not in known]
    if unknown:
        errors = [FieldError(name[:100], "unknown", f"there is no field {name[:100]!r}") for name in unknown[:20]]
        raise Refused(Problem(status=400, code="invalid", detail=errors[0].message, errors=errors))


def refused(field: str | None, code: str, message: str) -> Refused:
    """400, about one field."""
    return Refused(Problem(status=400, code="invalid", detail=message, errors=[FieldError(field, code, message)]))


class JobRequestSerializer(serializers.Serializer[Any]):
    """A job to create."""

    biz_type = serializers.CharField(max_length=100, help_text="The code of a biz type.")
    biz_id = serializers.CharField(max_length=rules.MAX_BIZ_ID, required=False, allow_blank=True)
    due_at = serializers.DateTimeField(required=False, allow_null=True, help_text="With a time zone; or:")
    delay = serializers.FloatField(required=False, allow_null=True, min_value=0, help_text="Seconds from now.")
    body = serializers.JSONField(required=False, allow_null=True, help_text="Any JSON value of up to 64 KB.")
    priority = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=rules.LOWEST_PRIORITY)
    max_attempts = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=rules.MAX_ATTEMPTS)
    idempotency_key = serializers.CharField(required=False, allow_null=True, max_length=rules.MAX_KEY)
    debounce_key = serializers.CharField(
        required=False,
        allow_null=True,
        max_length=rules.MAX_KEY,
        help_text="A later request with the same key replaces this one until its first attempt begins.",
    )


class BulkRequestSerializer(serializers.Serializer[Any]):
    """Jobs to create together."""

    jobs = serializers.ListField(child=JobRequestSerializer(), min_length=1, max_length=MAX_BULK)


class VerbRequestSerializer(serializers.Serializer[Any]):
    """What every verb takes."""

    version = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, help_text="Only if the job still has this version."
    )


class MoveRequestSerializer(VerbRequestSerializer):
    """A job's new time: one of the two."""

    due_at = serializers.DateTimeField(required=False, allow_null=True, help_text="With a time zone; or:")
    delay = serializers.FloatField(required=False, allow_null=True, min_value=0, help_text="Seconds from now.")
