"""How a series looks from outside."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from delayhub.api_models import series as answers
from tasksapp.api.http.answers import json_of, serializer_of, timestamp
from tasksapp.api.jobs.representation import carried_json
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
    return json_of(
        answers.JobSeries,
        series,
        biz_type=series.biz_type.code,
        times=[timestamp(datetime.fromisoformat(each)) for each in series.times],
        words=words,
        next_at=next_at,
        **carried_json(series),
    )


def preview_json(preview: Preview) -> dict[str, Any]:
    """A preview, as :class:`SchedulePreviewSerializer` describes it."""
    return {"words": preview.words, "occurrences": [timestamp(each) for each in preview.occurrences]}


def etag_of(series: Series) -> str:
    """What ``If-Match`` compares: another one after each change by a person or a caller."""
    return f'"{series.pk}-{series.version}"'


def _example() -> dict[str, Any]:
    at = datetime(2027, 1, 31, 8, 30, tzinfo=UTC)
    series = Series(
        id=12, biz_type=BizType(id=1, code="report.daily"), name="morning", cron="0 9 * * 1-5",
        time_zone="Asia/Shanghai", body='{"report": "sales"}', made=17, created_at=at, updated_at=at,
        paused_at=at,
    )  # fmt: skip
    shown = series_json(series)
    return {**shown, "next_at": "2027-02-01T01:00:00Z", "paused_at": None}


JobSeriesSerializer = serializer_of(answers.JobSeries, example=_example())
SchedulePreviewSerializer = serializer_of(
    answers.SchedulePreview,
    example={
        "words": "At 09:00, Monday through Friday (Asia/Shanghai time)",
        "occurrences": ["2027-02-01T01:00:00Z", "2027-02-02T01:00:00Z"],
    },
)
TriggeredJobSerializer = serializer_of(
    answers.Triggered, name="TriggeredJob", example={"job_id": "01a1fcb9-e182-7773-bac4-bf777e5e56f2"}
)
