"""How a series looks from outside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from tasksapp.api.http.timestamp import timestamp
from tasksapp.api.jobs.representation import carried_fields, carried_json
from tasksapp.errors import InvalidSeries
from tasksapp.models import BizType, Series
from tasksapp.series.outlook import Preview, coming, words_of


def series_json(series: Series) -> dict[str, Any]:
    """A series, as :class:`JobSeriesSerializer` describes it."""
    next_at, words = None, ""
    try:
        words = words_of(series)
        if not series.is_paused:
            next_at = next(iter(coming(series, after=timezone.now(), most=1)), None)
    except InvalidSeries as error:
        words = str(error)
    return {
        "id": series.pk,
        "biz_type": series.biz_type.code,
        "name": series.name,
        "cron": series.cron,
        "every": _seconds(series.every),
        "times": [timestamp(datetime.fromisoformat(each)) for each in series.times],
        "time_zone": series.time_zone,
        "anchor": timestamp(series.anchor),
        "starts_at": timestamp(series.starts_at),
        "ends_at": timestamp(series.ends_at),
        "count": series.count,
        "jitter": _seconds(series.jitter),
        "overlap": str(series.overlap),
        "catch_up": str(series.catch_up),
        **carried_json(series),
        "words": words,
        "next_at": timestamp(next_at),
        "made": series.made,
        "live_job": None if series.live_job is None else str(series.live_job),
        "paused_at": timestamp(series.paused_at),
        "paused_by": series.paused_by,
        "pause_reason": series.pause_reason,
        "declared_by": series.declared_by,
        "version": series.version,
        "created_at": timestamp(series.created_at),
        "updated_at": timestamp(series.updated_at),
    }


def preview_json(preview: Preview) -> dict[str, Any]:
    """A preview, as :class:`SchedulePreviewSerializer` describes it."""
    return {"words": preview.words, "occurrences": [timestamp(each) for each in preview.occurrences]}


def etag_of(series: Series) -> str:
    """What ``If-Match`` compares: another one after each change by a person or a caller."""
    return f'"{series.pk}-{series.version}"'


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()


def _example() -> dict[str, Any]:
    at = datetime(2027, 1, 31, 8, 30, tzinfo=UTC)
    series = Series(
        id=12, biz_type=BizType(id=1, code="report.daily"), name="morning", cron="0 9 * * 1-5",
        time_zone="Asia/Shanghai", body='{"report": "sales"}', made=17, created_at=at, updated_at=at,
        paused_at=at,
    )  # fmt: skip
    shown = series_json(series)
    return {**shown, "next_at": "2027-02-01T01:00:00Z", "paused_at": None}


class JobSeriesSerializer(serializers.Serializer[Any]):
    """A series: jobs that repeat."""

    example = _example()

    id = serializers.IntegerField()
    biz_type = serializers.CharField()
    name = serializers.CharField(help_text="Unique in its biz type.")
    cron = serializers.CharField(allow_blank=True, help_text="Five fields, or six with seconds first; '': not by cron.")
    every = serializers.FloatField(allow_null=True, help_text="Seconds from one to the next. Null: not by interval.")
    times = serializers.ListField(child=serializers.DateTimeField(), help_text="Empty: not by a list.")
    time_zone = serializers.CharField(help_text="Of the cron expression.")
    anchor = serializers.DateTimeField(allow_null=True, help_text="One of the moments that the interval leads to.")
    starts_at = serializers.DateTimeField(allow_null=True, help_text="None is due before.")
    ends_at = serializers.DateTimeField(allow_null=True, help_text="None is due after.")
    count = serializers.IntegerField(allow_null=True, help_text="It ends after so many.")
    jitter = serializers.FloatField(help_text="Each is due up to so many seconds later.")
    overlap = serializers.ChoiceField(choices=Series.Overlap.choices, help_text="When the one before still lives.")
    catch_up = serializers.ChoiceField(choices=Series.CatchUp.choices, help_text="Which run after an outage.")
    words = serializers.CharField(help_text="What the schedule means.")
    next_at = serializers.DateTimeField(allow_null=True, help_text="The next moment. Null: paused, or at its end.")
    made = serializers.IntegerField(help_text="Occurrences made so far.")
    live_job = serializers.UUIDField(allow_null=True, help_text="The one that has not finished, where that matters.")
    paused_at = serializers.DateTimeField(allow_null=True)
    paused_by = serializers.CharField(allow_blank=True)
    pause_reason = serializers.CharField(allow_blank=True)
    declared_by = serializers.CharField(allow_blank=True, help_text="The task in code that declares it.")
    version = serializers.IntegerField(help_text="Grows with each change.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """One for each of the schedule, and those that its jobs carry."""
        return {**super().get_fields(), **carried_fields()}


class SchedulePreviewSerializer(serializers.Serializer[Any]):
    """What a schedule means."""

    example = {
        "words": "At 09:00, Monday through Friday (Asia/Shanghai time)",
        "occurrences": ["2027-02-01T01:00:00Z", "2027-02-02T01:00:00Z"],
    }

    words = serializers.CharField()
    occurrences = serializers.ListField(child=serializers.DateTimeField(), help_text="The next ones, without jitter.")


class TriggeredJobSerializer(serializers.Serializer[Any]):
    """A job that was made by hand."""

    example = {"job_id": "01a1fcb9-e182-7773-bac4-bf777e5e56f2"}

    job_id = serializers.UUIDField()
