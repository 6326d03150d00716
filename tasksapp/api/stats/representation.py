"""Numbers and issues as the API answers them."""

from __future__ import annotations

from typing import Any

from delayhub.api_models import stats as answers
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.models.error_class import error_class_label
from tasksapp.stats.counts import BizTypeCounts
from tasksapp.stats.issues import Issue
from tasksapp.stats.pulses import PulseSummary

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
    """Counts and the last minutes."""
    return json_of(
        answers.Numbers,
        counts,
        summary,
        done_per_minute=round(summary.done_per_minute, 3),
        failing_share=_share(summary.failing_share),
    )


def issue_json(issue: Issue) -> dict[str, Any]:
    """An issue."""
    return json_of(
        answers.Issue,
        issue,
        biz_type=issue.biz_type.code,
        description=error_class_label(issue.error_class),
        failing_share=_share(issue.failing_share),
    )


def _share(share: float | None) -> float | None:
    return None if share is None else round(share, 4)


_OF_BIZ_TYPE = {"biz_type": "order.close", **_NUMBERS}
_QUOTA = {"quota": "pending_jobs", "limit": 10_000_000, "used": 1_204, "as_of": "2027-01-31T08:30:00Z"}
_POINT = {
    "at": "2027-01-31T08:29:00Z",
    "succeeded": 412,
    "failed": 4,
    "dead": 0,
    "lateness_p50_ms": 4,
    "lateness_p99_ms": 85,
}
_ISSUE = {
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
JobNumbersSerializer = serializer_of(answers.Numbers, name="JobNumbers", example=_NUMBERS)
BizTypeNumbersSerializer = serializer_of(answers.BizTypeNumbers, example=_OF_BIZ_TYPE)
QuotaUseSerializer = serializer_of(answers.QuotaUse, example=_QUOTA)
StatsSerializer = serializer_of(
    answers.Stats,
    example={
        "as_of": "2027-01-31T08:30:00Z",
        "bounded": False,
        "total": _NUMBERS,
        "biz_types": [_OF_BIZ_TYPE],
        "quotas": [_QUOTA],
    },
)
StatsPointSerializer = serializer_of(answers.SeriesPoint, name="StatsPoint", example=_POINT)
StatsSeriesSerializer = serializer_of(
    answers.Series, name="StatsSeries", example={"step_seconds": 60, "points": [_POINT]}
)
IssueSerializer = serializer_of(answers.Issue, example=_ISSUE)
IssuesSerializer = serializer_of(answers.Issues, example={"issues": [_ISSUE]})
HealthSerializer = serializer_of(answers.Health, example={"state": "ok", "is_ok": True, "sentence": ""})
