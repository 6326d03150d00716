"""What callers may send about operations."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from tasksapp.api.http.problems import only_known, refused
from tasksapp.jobs.job_filter import MOST_IDS, JobFilter
from tasksapp.models import Operation, Status
from tasksapp.operations.verbs import FASTEST, MOST_SPREAD, MOST_TRIAL_JOBS, REASON_LENGTH, SLOWEST

#: Fields of a filter in which an empty text means that they are not given.
_TEXTS = frozenset({"biz_type", "error_class", "biz_id", "flow_key"})


def filter_of(given: Any) -> JobFilter:
    """The filter of a request. Raises Refused or InvalidJob, which name the field."""
    if not isinstance(given, dict):
        raise refused("filter", "invalid" if given is not None else "required", "filter must be a JSON object")
    only_known(given, FILTER_FIELDS)
    if isinstance(given.get("status"), list):
        message = (
            "give one status or leave it out: each verb is for jobs of one (redrive and drop: dead; others: pending)"
        )
        raise refused("status", "invalid", message)
    for name, value in given.items():
        is_wrong = (
            (value == "" and name not in _TEXTS)
            or (value == [] and name != "ids")
            or (name in {"operation", "series"} and value is not None and type(value) is not int)
            or (name == "ids" and value is not None and not isinstance(value, list))
        )
        if is_wrong:
            raise refused(name, "invalid", f"{value!r:.80} cannot be a filter's {name}")
    return JobFilter.parse(given)


class JobFilterSerializer(serializers.Serializer[Any]):
    """Jobs for which everything holds that is given."""

    example = {"biz_type": "order.close", "error_class": "http.503"}

    status = serializers.ChoiceField(choices=Status.choices, required=False, allow_null=True)
    biz_type = serializers.CharField(required=False, allow_blank=True, allow_null=True, max_length=100)
    error_class = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, max_length=40, help_text="Such as http.503 or timeout."
    )
    biz_id = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, max_length=201, help_text="Whole, or its beginning and *."
    )
    flow_key = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, max_length=100, help_text="The whole flow key."
    )
    ids = serializers.ListField(child=serializers.UUIDField(), required=False, allow_null=True, max_length=MOST_IDS)
    due_from = serializers.DateTimeField(required=False, allow_null=True)
    due_until = serializers.DateTimeField(required=False, allow_null=True, help_text="Not part of the range itself.")
    next_from = serializers.DateTimeField(required=False, allow_null=True, help_text="When it runs next.")
    next_until = serializers.DateTimeField(required=False, allow_null=True)
    ended_from = serializers.DateTimeField(required=False, allow_null=True)
    ended_until = serializers.DateTimeField(required=False, allow_null=True)
    operation = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=2**63 - 1, help_text="The one that changed it last."
    )
    series = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=2**63 - 1, help_text="The one that it is of."
    )
    occurrence_from = serializers.DateTimeField(required=False, allow_null=True, help_text="Which of its series.")
    occurrence_until = serializers.DateTimeField(required=False, allow_null=True)


FILTER_FIELDS = frozenset(JobFilterSerializer().fields)


class OperationRequestSerializer(serializers.Serializer[Any]):
    """A verb, and the jobs it is for. They are counted first; nothing changes before the start."""

    example = {
        "verb": "redrive",
        "filter": JobFilterSerializer.example,
        "reason": "the receiver was down",
    }

    verb = serializers.ChoiceField(choices=Operation.VerbName.choices)
    filter = JobFilterSerializer()
    due_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="The new time; for reschedule and no other verb."
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=REASON_LENGTH)


class StartOperationRequestSerializer(serializers.Serializer[Any]):
    """How fast it goes. With neither a pace nor a time to spread over: as fast as possible."""

    example = {"spread_seconds": 600, "trial_jobs": 10, "trial_percent": 90}

    rate_per_second = serializers.FloatField(
        required=False, allow_null=True, min_value=SLOWEST, max_value=FASTEST, help_text="Jobs a second; or:"
    )
    spread_seconds = serializers.FloatField(
        required=False, allow_null=True, min_value=1, max_value=MOST_SPREAD.total_seconds(), help_text="How long."
    )
    trial_jobs = serializers.IntegerField(
        required=False, min_value=0, max_value=MOST_TRIAL_JOBS, help_text="So many go first; 0: no trial."
    )
    trial_percent = serializers.IntegerField(
        required=False, min_value=1, max_value=100, help_text="The others go if so many of a hundred succeed."
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=REASON_LENGTH)
    typed_count = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, help_text="`planned`, to cancel or drop more than 1 000 jobs."
    )


class StopOperationRequestSerializer(serializers.Serializer[Any]):
    """Why it stops."""

    example = {"reason": "wrong filter"}

    reason = serializers.CharField(required=False, allow_blank=True, max_length=REASON_LENGTH)


class PlanRestRequestSerializer(serializers.Serializer[Any]):
    """Why the rest is planned."""

    example = {"reason": "the receiver is well again"}

    reason = serializers.CharField(
        required=False, allow_blank=True, max_length=REASON_LENGTH, help_text="Left out: that of the operation."
    )


class PaceOperationRequestSerializer(serializers.Serializer[Any]):
    """Another pace."""

    example = {"rate_per_second": 20}

    rate_per_second = serializers.FloatField(
        allow_null=True, min_value=SLOWEST, max_value=FASTEST, help_text="Jobs a second; null: as fast as possible."
    )
