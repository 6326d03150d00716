"""How numbers, forecasts and issues look from outside."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from tasksapp.api.http.timestamp import timestamp
from tasksapp.models.error_class import error_class_label
from tasksapp.stats.capacity import Limit
from tasksapp.stats.counts import LEAST_EACH, BizTypeCounts
from tasksapp.stats.drain import Drain, Peak
from tasksapp.stats.issues import Issue
from tasksapp.stats.pulses import PulsePoint, PulseSummary

_NUMBERS = {
    "pending": 1_204,
    "due_now": 17,
    "running": 4,
    "dead": 2,
    "oldest_due_at": "2027-01-31T08:29:58Z",
    "next_due_at": "2027-01-31T08:30:04Z",
    "done_per_minute": 412.5,
    "failing_share": 0.01,
    "lateness_p50_ms": 4,
    "lateness_p99_ms": 85,
}


def numbers_json(counts: BizTypeCounts, summary: PulseSummary) -> dict[str, Any]:
    """Counts and the last minutes, as :class:`JobNumbersSerializer` describes them."""
    return {
        "pending": counts.pending,
        "due_now": counts.due_now,
        "running": counts.running,
        "dead": counts.dead,
        "oldest_due_at": timestamp(counts.oldest_due_at),
        "next_due_at": timestamp(counts.next_due_at),
        "done_per_minute": round(summary.done_per_minute, 3),
        "failing_share": None if summary.failing_share is None else round(summary.failing_share, 4),
        "lateness_p50_ms": summary.lateness_p50_ms,
        "lateness_p99_ms": summary.lateness_p99_ms,
    }


def point_json(point: PulsePoint) -> dict[str, Any]:
    """A step of a series, as :class:`StatsPointSerializer` describes it."""
    return {**point._asdict(), "at": timestamp(point.at)}


def peak_json(peak: Peak) -> dict[str, Any]:
    """A peak, as :class:`PeakSerializer` describes it."""
    return {
        "biz_type": peak.biz_type.code,
        "at": timestamp(peak.at),
        "jobs": peak.jobs,
        "capacity_per_second": round(peak.capacity_per_second, 3),
        "limited_by": peak.limited_by.value,
        "done_at": timestamp(peak.done_at),
        "late_seconds": round(peak.late_seconds, 3),
        "sentence": peak.sentence,
    }


def drain_json(drain: Drain) -> dict[str, Any]:
    """A drain, as :class:`BizTypeForecastSerializer` describes it."""
    return {
        "empty_at": timestamp(drain.empty_at),
        "earliest": timestamp(drain.earliest),
        "latest": timestamp(drain.latest),
        "peak_lateness_seconds": round(drain.peak_lateness_seconds, 3),
        "capacity_per_second": round(drain.capacity_per_second, 3),
        "limited_by": drain.limited_by.value,
        "sentence": drain.sentence,
    }


def issue_json(issue: Issue) -> dict[str, Any]:
    """An issue, as :class:`IssueSerializer` describes it."""
    return {
        "biz_type": issue.biz_type.code,
        "error_class": issue.error_class,
        "description": error_class_label(issue.error_class),
        "dead": issue.dead,
        "first_at": timestamp(issue.first_at),
        "last_at": timestamp(issue.last_at),
        "today": issue.today,
        "failing_share": None if issue.failing_share is None else round(issue.failing_share, 4),
        "sample_job_id": None if issue.sample_job_id is None else str(issue.sample_job_id),
    }


class JobNumbersSerializer(serializers.Serializer[Any]):
    """How many jobs there are, and how the last five minutes were."""

    example: dict[str, Any] = _NUMBERS

    pending = serializers.IntegerField(help_text="Jobs that wait.")
    due_now = serializers.IntegerField(help_text="Those of them whose time has come.")
    running = serializers.IntegerField()
    dead = serializers.IntegerField()
    oldest_due_at = serializers.DateTimeField(
        allow_null=True, help_text="When the first of the pending ones is to run."
    )
    next_due_at = serializers.DateTimeField(allow_null=True, help_text="The first of those times that is to come.")
    done_per_minute = serializers.FloatField(help_text="Attempts that succeeded.")
    failing_share = serializers.FloatField(
        allow_null=True, help_text="Which share of the attempts failed, 0 to 1; null: there were none."
    )
    lateness_p50_ms = serializers.IntegerField(
        allow_null=True, help_text="Half of the attempts began no later than this after their time."
    )
    lateness_p99_ms = serializers.IntegerField(allow_null=True, help_text="99 in 100 of them did.")


class BizTypeNumbersSerializer(JobNumbersSerializer):
    """The same of one biz type."""

    example = {"biz_type": "order.close", **_NUMBERS}

    biz_type = serializers.CharField()


class StatsSerializer(serializers.Serializer[Any]):
    """How many jobs there are, at one moment."""

    example: dict[str, Any] = {
        "as_of": "2027-01-31T08:30:00Z",
        "bounded": False,
        "total": _NUMBERS,
        "biz_types": [{"biz_type": "order.close", **_NUMBERS}],
    }

    as_of = serializers.DateTimeField(help_text="When they were counted; the loader counts every ten seconds.")
    bounded = serializers.BooleanField(help_text=f"True: no loader counts; a number from {LEAST_EACH} on may be more.")
    total = JobNumbersSerializer()
    biz_types = BizTypeNumbersSerializer(many=True, help_text="By code.")


class StatsPointSerializer(serializers.Serializer[Any]):
    """One step of a series."""

    example: dict[str, Any] = {
        "at": "2027-01-31T08:29:00Z",
        "succeeded": 412,
        "failed": 4,
        "dead": 0,
        "lateness_p50_ms": 4,
        "lateness_p99_ms": 85,
    }

    at = serializers.DateTimeField(help_text="When it begins.")
    succeeded = serializers.IntegerField(help_text="Attempts that succeeded.")
    failed = serializers.IntegerField(help_text="Attempts that failed.")
    dead = serializers.IntegerField(help_text="Jobs that died.")
    lateness_p50_ms = serializers.IntegerField(allow_null=True)
    lateness_p99_ms = serializers.IntegerField(allow_null=True)


class StatsSeriesSerializer(serializers.Serializer[Any]):
    """What came of attempts, step by step."""

    example: dict[str, Any] = {"step_seconds": 60, "points": [StatsPointSerializer.example]}

    step_seconds = serializers.IntegerField()
    points = StatsPointSerializer(many=True, help_text="The oldest first, also those without attempts.")


class PeakSerializer(serializers.Serializer[Any]):
    """Jobs ahead that come faster than they can be done."""

    example: dict[str, Any] = {
        "biz_type": "order.close",
        "at": "2027-01-31T22:00:00Z",
        "jobs": 60_000,
        "capacity_per_second": 200.0,
        "limited_by": "rate",
        "done_at": "2027-01-31T22:05:00Z",
        "late_seconds": 290.5,
        "sentence": "60,000 at 22:00:00 order.close; limit 200/s: done 22:05:00, 4 min 50 s late",
    }

    biz_type = serializers.CharField()
    at = serializers.DateTimeField(help_text="When the first of them is due.")
    jobs = serializers.IntegerField()
    capacity_per_second = serializers.FloatField(help_text="How many are done a second.")
    limited_by = serializers.ChoiceField(
        choices=[limit.value for limit in Limit], help_text="What keeps that from being more."
    )
    done_at = serializers.DateTimeField(allow_null=True, help_text="Null: not within a day.")
    late_seconds = serializers.FloatField(help_text="How late the latest of them begins.")
    sentence = serializers.CharField()


class PeaksSerializer(serializers.Serializer[Any]):
    """The peaks of the next day."""

    example: dict[str, Any] = {"peaks": [PeakSerializer.example]}

    peaks = PeakSerializer(many=True, help_text="The first one first.")


class BizTypeForecastSerializer(serializers.Serializer[Any]):
    """When the jobs that wait are done."""

    example: dict[str, Any] = {
        "biz_type": "order.close",
        "delivery_rate": 400.0,
        "max_in_flight": None,
        "as_of": "2027-01-31T08:30:00Z",
        "bounded": False,
        "due_now": 24_000,
        "empty_at": "2027-01-31T08:31:00Z",
        "earliest": "2027-01-31T08:30:57Z",
        "latest": "2027-01-31T08:31:03Z",
        "peak_lateness_seconds": 60.0,
        "capacity_per_second": 400.0,
        "limited_by": "rate",
        "sentence": "24,000 jobs are due; done at 08:31:00 (limit 400/s)",
        "peaks": [],
    }

    biz_type = serializers.CharField()
    delivery_rate = serializers.FloatField(allow_null=True, help_text="The limit that it was made with; null: none.")
    max_in_flight = serializers.IntegerField(allow_null=True, help_text="The same.")
    as_of = serializers.DateTimeField(help_text="When the jobs were counted.")
    bounded = serializers.BooleanField(help_text="True: `due_now` may be more.")
    due_now = serializers.IntegerField()
    empty_at = serializers.DateTimeField(allow_null=True, help_text="Null: not within a day, or not known.")
    earliest = serializers.DateTimeField(allow_null=True)
    latest = serializers.DateTimeField(allow_null=True)
    peak_lateness_seconds = serializers.FloatField(help_text="How late the latest of them begins, at most.")
    capacity_per_second = serializers.FloatField()
    limited_by = serializers.ChoiceField(choices=[limit.value for limit in Limit])
    sentence = serializers.CharField(help_text="All that, for people.")
    peaks = PeakSerializer(many=True, help_text="Of the next day, with these limits; what waits now is among them.")


class IssueSerializer(serializers.Serializer[Any]):
    """The dead jobs of one biz type that failed alike."""

    example: dict[str, Any] = {
        "biz_type": "order.close",
        "error_class": "http.503",
        "description": "HTTP 503",
        "dead": 412,
        "first_at": "2027-01-31T06:12:00Z",
        "last_at": "2027-01-31T08:29:58Z",
        "today": 412,
        "failing_share": 0.42,
        "sample_job_id": "01a1fcb9-e182-7773-bac4-bf777e5e56f2",
    }

    biz_type = serializers.CharField()
    error_class = serializers.CharField(allow_blank=True, help_text="As filters of operations take it.")
    description = serializers.CharField(help_text="The same for people.")
    dead = serializers.IntegerField()
    first_at = serializers.DateTimeField(allow_null=True)
    last_at = serializers.DateTimeField(allow_null=True)
    today = serializers.IntegerField(help_text="How many died since midnight, also of those that were redriven since.")
    failing_share = serializers.FloatField(
        allow_null=True, help_text="Which share of the biz type's attempts of the last 15 minutes failed like this."
    )
    sample_job_id = serializers.UUIDField(allow_null=True, help_text="The one that died last.")


class IssuesSerializer(serializers.Serializer[Any]):
    """Dead jobs, grouped."""

    example: dict[str, Any] = {"issues": [IssueSerializer.example]}

    issues = IssueSerializer(many=True, help_text="The latest first.")
