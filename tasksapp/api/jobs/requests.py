"""What callers may send. The fields of a job and their OpenAPI are made from the rules of :class:`JobRequest`."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from rest_framework import serializers

from tasksapp.api.http.json_decoder import MAX_BULK
from tasksapp.api.http.problems import only_known, refused
from tasksapp.api.jobs.exact_body import BODIES, TWO_BODIES, body_fields, with_bytes
from tasksapp.jobs.exact_bytes import ContentType, ExactBytes
from tasksapp.jobs.own_request_rule import LONGEST_URL, SHORTEST_TIMEOUT, RequestOfItsOwn
from tasksapp.jobs.requests import RULES, JobRequest, fields_on
from tasksapp.jobs.validation import (
    CODE,
    MAX_DELAY,
    VERSION,
    Body,
    Code,
    Face,
    FlowKey,
    Key,
    Line,
    Moment,
    Rule,
    Seconds,
    Whole,
)


def job_request(
    fields: Any, *, key: str | None = None, traceparent: str = "", known: Set[str] | None = None
) -> JobRequest:
    """A request for a job; unknown and missing fields are Refused, all others are for the rules to judge.

    ``known``: the names of the fields that there may be; None for all.
    """
    if not isinstance(fields, dict):
        raise refused(None, "invalid", "A job must be a JSON object.")
    only_known(fields, JOB_FIELDS if known is None else known)
    if "biz_type" not in fields:
        raise refused("biz_type", "required", "biz_type is required")
    if key is not None:
        if fields.get("idempotency_key") not in (None, key):
            raise refused("idempotency_key", "conflict", "idempotency_key differs from the header Idempotency-Key")
        fields["idempotency_key"] = key
    if not BODIES.isdisjoint(fields):
        fields = with_bytes(fields)
    return JobRequest(**fields, traceparent=traceparent)


class OwnRequestSerializer(serializers.Serializer[Any]):
    """What the request of one job has of its own."""

    example: dict[str, Any] = {"timeout_seconds": 3, "headers": {"X-Region": "eu"}}

    timeout_seconds = serializers.FloatField(
        required=False, allow_null=True, min_value=SHORTEST_TIMEOUT, help_text="At most that of the biz type."
    )
    headers = serializers.DictField(
        child=serializers.CharField(allow_blank=True),
        required=False,
        allow_null=True,
        help_text="Beside those of the biz type, and in place of those of the same names. Those that hold secrets, such"
        " as `Authorization`, are stored encrypted and shown as `(hidden)`.",
    )
    url = serializers.CharField(
        required=False, allow_null=True, max_length=LONGEST_URL, help_text="Of a host that the biz type names."
    )


def described_rule(rule: Rule) -> serializers.Field[Any, Any, Any, Any]:  # noqa: PLR0911  a table of rules
    """The field that describes to OpenAPI what a rule lets pass."""
    optional: dict[str, Any] = {"required": False, "allow_null": True, "help_text": rule.help}
    match rule:
        case Code():
            return serializers.RegexField(CODE, max_length=100, help_text=rule.help)
        case FlowKey(longest=longest):
            return serializers.RegexField(
                "^[^:{}]*$", max_length=longest, required=False, allow_blank=True, help_text=rule.help
            )
        case Line(longest=longest):
            return serializers.CharField(max_length=longest, required=False, allow_blank=True, help_text=rule.help)
        case Key(longest=longest):
            return serializers.CharField(min_length=1, max_length=longest, **optional)
        case Whole(least=least, most=most):
            return serializers.IntegerField(min_value=least, max_value=most, **optional)
        case Moment():
            return serializers.DateTimeField(**optional)
        case Seconds():
            return serializers.FloatField(min_value=0, max_value=MAX_DELAY.total_seconds(), **optional)
        case Body():
            return serializers.JSONField(**optional)
        case RequestOfItsOwn():
            return OwnRequestSerializer(**optional)
    raise TypeError(f"no field describes {rule!r}")


def described(face: Face) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
    """What describes the fields of a job that a request may have there, with two in the place of its exact bytes."""
    names = [name for name in fields_on(face) if not isinstance(RULES[name], ExactBytes | ContentType)]
    return {**{name: described_rule(RULES[name]) for name in names}, **body_fields()}


#: JSON Schema of a job's time: by ``due_at``, or by ``delay``. Null is not given.
_BY_DUE_AT = {"required": ["due_at"], "properties": {"due_at": {"type": "string"}}}
_BY_DELAY = {"required": ["delay"], "properties": {"delay": {"type": "number"}}}


class JobRequestSerializer(serializers.Serializer[Any]):
    """A job to create, at a time that `due_at` or `delay` says; with neither, it is due at once."""

    rules = {"not": {"anyOf": [{"allOf": [_BY_DUE_AT, _BY_DELAY]}, *TWO_BODIES]}}
    example = {"biz_type": "order.close", "biz_id": "order-42", "delay": 1800, "body": {"order": 42}}

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """One for each field of a new job."""
        return described(Face.CREATE)


#: What a request for a job may hold.
JOB_FIELDS = frozenset(JobRequestSerializer().fields)


class BulkRequestSerializer(serializers.Serializer[Any]):
    """Jobs to create by one request."""

    example = {
        "jobs": [
            JobRequestSerializer.example,
            {"biz_type": "order.close", "biz_id": "order-43", "due_at": "2027-01-31T09:00:00+01:00", "priority": 1},
        ]
    }

    jobs = serializers.ListField(child=JobRequestSerializer(), min_length=1, max_length=MAX_BULK)
    together = serializers.BooleanField(
        required=False, default=False, help_text="Create all jobs or none: the first refusal is the answer."
    )


class VersionRequestSerializer(serializers.Serializer[Any]):
    """What every verb takes."""

    example: dict[str, Any] = {"version": 1}

    version = serializers.IntegerField(
        required=False, allow_null=True, min_value=VERSION.least, max_value=VERSION.most, help_text=VERSION.help
    )


class RedriveJobRequestSerializer(VersionRequestSerializer):
    """What a redrive takes."""

    example = {"version": 1}

    lift = serializers.BooleanField(
        required=False, allow_null=True, help_text="Whether it takes back the resolve of the job's business key."
    )


#: Fields of a waiting job that a PATCH changes, beside its time.
EDITED_FIELDS = tuple(name for name in described(Face.CHANGE) if name not in ("due_at", "delay"))


class ChangeJobRequestSerializer(VersionRequestSerializer):
    """What is to be different in a pending job; all that is not given stays as it is."""

    rules = {
        "not": {"anyOf": [{"allOf": [_BY_DUE_AT, _BY_DELAY]}, *TWO_BODIES]},
        "anyOf": [_BY_DUE_AT, _BY_DELAY, *({"required": [name]} for name in EDITED_FIELDS)],
    }
    example = {"delay": 3600, "version": 1}

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """The version, and one for each field that is changed."""
        return {**super().get_fields(), **described(Face.CHANGE)}
