"""Numbers, issues, and whether jobs are delivered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

QuotaName = Literal["pending_jobs", "pending_bytes", "series", "biz_types", "api_keys"]
HealthState = Literal[
    "ok",
    "database away",
    "database locked",
    "database full",
    "database read-only",
    "database standby",
    "settings",
    "redis away",
    "other redis",
    "no worker",
    "workers full",
    "no loader",
    "loader fails",
]


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """How many jobs there are, and how the last five minutes were."""

    pending: Annotated[int, "Jobs that wait."]
    due_now: Annotated[int, "Those of them whose time has come."]
    running: int
    dead: int
    oldest_due_at: Annotated[datetime | None, "When the first of the pending ones is to run."]
    next_due_at: Annotated[datetime | None, "The first of those times that is to come."]
    done_per_minute: Annotated[float, "Attempts that succeeded."]
    failing_share: Annotated[float | None, "Which share of the attempts failed, 0 to 1. None: there were none."]
    lateness_p50_ms: Annotated[int | None, "Half of the attempts began no later than this after their time."]
    lateness_p99_ms: Annotated[int | None, "99 in 100 of them did."]


@dataclass(frozen=True, kw_only=True)
class BizTypeNumbers(Numbers):
    """The same of one biz type."""

    biz_type: str


@dataclass(frozen=True, kw_only=True)
class QuotaUse:
    """How much the tenant has of something, and may have."""

    quota: QuotaName
    limit: int
    used: Annotated[int | None, "As it was counted last; the bytes of many bodies are estimated. None: not yet."]
    as_of: Annotated[datetime | None, "When that was; the loader counts every ten seconds."]


@dataclass(frozen=True, kw_only=True)
class Stats:
    """How many jobs there are, at one moment, and what the tenant may have."""

    as_of: Annotated[datetime, "When they were counted; the loader counts every ten seconds."]
    bounded: Annotated[bool, "True: no loader counts; a number may mean so many or more."]
    total: Numbers
    biz_types: Annotated[Sequence[BizTypeNumbers], "By code."]
    quotas: Annotated[Sequence[QuotaUse], "Of the whole tenant."]


@dataclass(frozen=True, kw_only=True)
class SeriesPoint:
    """One step of a series."""

    at: Annotated[datetime, "When it begins."]
    succeeded: Annotated[int, "Attempts that succeeded."]
    failed: Annotated[int, "Attempts that failed."]
    dead: Annotated[int, "Jobs that died."]
    lateness_p50_ms: int | None
    lateness_p99_ms: int | None


@dataclass(frozen=True, kw_only=True)
class Series:
    """What came of attempts, step by step."""

    step_seconds: int
    points: Annotated[Sequence[SeriesPoint], "The oldest first, also those without attempts."]


@dataclass(frozen=True, kw_only=True)
class Issue:
    """The dead jobs of one biz type that failed alike."""

    biz_type: str
    error_class: Annotated[str, "As filters of operations take it."]
    description: Annotated[str, "The same for people."]
    dead: int
    first_at: datetime | None
    last_at: datetime | None
    today: Annotated[int, "How many died since midnight, also of those that were redriven since."]
    failing_share: Annotated[
        float | None, "Which share of the biz type's attempts of the last 15 minutes failed like this."
    ]
    sample_job_id: Annotated[str | None, UUID, "The one that died last."]


@dataclass(frozen=True, kw_only=True)
class Issues:
    """Dead jobs, grouped."""

    issues: Annotated[Sequence[Issue], "The latest first."]


@dataclass(frozen=True, kw_only=True)
class Health:
    """Whether jobs are delivered at this moment."""

    state: HealthState
    is_ok: bool
    sentence: Annotated[str, "What is wrong and what to do; empty while it is ok."]
