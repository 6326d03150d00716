"""What callers may send about several jobs of one business key: plans, resolves and lifts."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from tasksapp import jobs
from tasksapp.api.exact_body import BASE64, TEXT, with_bytes
from tasksapp.api.http.problems import only_known, refused
from tasksapp.api.requests import JobRequestSerializer, VersionRequestSerializer
from tasksapp.jobs.plans import MOST_STEPS
from tasksapp.jobs.resolving import MOST_BIZ_TYPES

#: What a job of a plan may say; the business key is the plan's.
STEP_FIELDS = (*(name for name in jobs.Step.__dataclass_fields__ if name not in ("_", "raw")), TEXT, BASE64)


class PlannedJobSerializer(serializers.Serializer[Any]):
    """A job of a plan, at a time that `due_at` or `delay` says; with neither, it is due at once."""

    rules = JobRequestSerializer.rules
    example = {"biz_type": "order.close", "delay": 1800, "body": {"order": 42}}

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Those of a job, but for its keys."""
        return {name: field for name, field in JobRequestSerializer().get_fields().items() if name in STEP_FIELDS}


class PlanRequestSerializer(serializers.Serializer[Any]):
    """Several jobs of one business key, which are created together or not at all."""

    example = {
        "biz_id": "order-42",
        "jobs": [{"biz_type": "order.remind", "delay": 1500}, PlannedJobSerializer.example],
    }

    biz_id = serializers.CharField(max_length=200, min_length=1, help_text="The business key of all its jobs.")
    jobs = serializers.ListField(child=PlannedJobSerializer(), min_length=1, max_length=MOST_STEPS)


class ResolveRequestSerializer(serializers.Serializer[Any]):
    """A business key."""

    example = {"biz_types": ["order.remind", "order.close"], "biz_id": "order-42", "reason": "paid"}

    biz_types = serializers.ListField(
        child=serializers.CharField(max_length=100), min_length=1, max_length=MOST_BIZ_TYPES, help_text="Their codes."
    )
    biz_id = serializers.CharField(max_length=200, min_length=1, help_text="The business key.")
    reason = serializers.CharField(required=False, allow_blank=True, max_length=500, help_text="Why, for the audit.")


class RedriveJobRequestSerializer(VersionRequestSerializer):
    """What a redrive takes."""

    example = {"version": 1}

    lift = serializers.BooleanField(
        required=False, allow_null=True, help_text="Whether it takes back the resolve of the job's business key."
    )


def planned(fields: dict[str, Any]) -> tuple[str, list[jobs.Step]]:
    """The business key and the jobs of a plan. Raises Refused where the request does not say them."""
    only_known(fields, {"biz_id", "jobs"})
    listed, biz_id = fields.get("jobs"), fields.get("biz_id")
    if not isinstance(biz_id, str) or not biz_id:
        raise refused("biz_id", "required", "biz_id is required, and may not be empty")
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_STEPS:
        raise refused("jobs", "invalid", f"jobs must be a list of 1 to {MOST_STEPS} jobs")
    return biz_id, [_step(each) for each in listed]


def key_of(fields: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``jobs.resolve`` and ``jobs.lift``. Raises Refused."""
    for name in ("biz_types", "biz_id"):
        if fields.get(name) is None:
            raise refused(name, "required", f"{name} is required")
    if not isinstance(fields["biz_types"], list):
        raise refused("biz_types", "invalid", "biz_types must be a list of codes")
    reason = fields.get("reason", "")
    if not isinstance(reason, str) or len(reason) > 500:
        raise refused("reason", "invalid", "reason must be a text of up to 500 characters")
    return {"biz_types": fields["biz_types"], "biz_id": fields["biz_id"], "reason": reason}


def _step(given: Any) -> jobs.Step:
    if not isinstance(given, dict):
        raise refused("jobs", "invalid", "each job must be a JSON object")
    only_known(given, STEP_FIELDS)
    if "biz_type" not in given:
        raise refused("biz_type", "required", "biz_type is required")
    return jobs.Step(**with_bytes(given))
