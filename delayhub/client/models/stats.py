"""Numbers, forecasts, issues, and whether jobs are delivered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

LimitedBy = Literal["rate", "slots", "workers", "unknown"]
HealthState = Literal[
    "ok",
    "database away",
    "database locked",
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

    #: Jobs that wait.
    pending: int
    #: Those of them whose time has come.
    due_now: int
    running: int
    dead: int
    #: When the first of the pending ones is to run.
    oldest_due_at: datetime | None
    #: The first of those times that is to come.
    next_due_at: datetime | None
    #: Attempts that succeeded.
    done_per_minute: float
    #: Which share of the attempts failed, 0 to 1; None: there were none.
    failing_share: float | None
    #: Half of the attempts began no later than this after their time.
    lateness_p50_ms: int | None
    #: 99 in 100 of them did.
    lateness_p99_ms: int | None


@dataclass(frozen=True, kw_only=True)
class BizTypeNumbers(Numbers):
    """The same of one biz type."""

    biz_type: str


@dataclass(frozen=True, kw_only=True)
class Stats:
    """How many jobs there are, at one moment."""

    #: When they were counted; the loader counts every ten seconds.
    as_of: datetime
    #: True: no loader counts, and a number may mean so many or more.
    bounded: bool
    total: Numbers
    #: By code.
    biz_types: Sequence[BizTypeNumbers]


@dataclass(frozen=True, kw_only=True)
class SeriesPoint:
    """One step of a series."""

    #: When it begins.
    at: datetime
    #: Attempts that succeeded.
    succeeded: int
    #: Attempts that failed.
    failed: int
    #: Jobs that died.
    dead: int
    lateness_p50_ms: int | None
    lateness_p99_ms: int | None


@dataclass(frozen=True, kw_only=True)
class Series:
    """What came of attempts, step by step."""

    step_seconds: int
    #: The oldest first, also those without attempts.
    points: Sequence[SeriesPoint]


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Jobs ahead that come faster than they can be done."""

    biz_type: str
    #: When the first of them is due.
    at: datetime
    jobs: int
    #: How many are done a second.
    capacity_per_second: float
    #: What keeps that from being more.
    limited_by: LimitedBy
    #: None: not within a day.
    done_at: datetime | None
    #: How late the latest of them begins.
    late_seconds: float
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Peaks:
    """The peaks of the next day."""

    #: The first one first.
    peaks: Sequence[Peak]


@dataclass(frozen=True, kw_only=True)
class Drain:
    """When the jobs that wait are done."""

    biz_type: str
    #: The limit that it was made with; None: none.
    delivery_rate: float | None
    #: The same.
    max_in_flight: int | None
    #: When the jobs were counted.
    as_of: datetime
    #: True: ``due_now`` may be more.
    bounded: bool
    due_now: int
    #: None: not within a day, or not known.
    empty_at: datetime | None
    earliest: datetime | None
    latest: datetime | None
    #: How late the latest of them begins, at most.
    peak_lateness_seconds: float
    capacity_per_second: float
    limited_by: LimitedBy
    #: All that, for people.
    sentence: str
    #: Of the next day, with these limits; what waits now is among them.
    peaks: Sequence[Peak]


@dataclass(frozen=True, kw_only=True)
class Issue:
    """The dead jobs of one biz type that failed alike."""

    biz_type: str
    #: As filters of operations take it.
    error_class: str
    #: The same for people.
    description: str
    dead: int
    first_at: datetime | None
    last_at: datetime | None
    #: How many died since midnight, also of those that were redriven since.
    today: int
    #: Which share of the biz type's attempts of the last 15 minutes failed like this.
    failing_share: float | None
    #: The one that died last.
    sample_job_id: str | None


@dataclass(frozen=True, kw_only=True)
class Issues:
    """Dead jobs, grouped."""

    #: The latest first.
    issues: Sequence[Issue]


@dataclass(frozen=True, kw_only=True)
class Health:
    """Whether jobs are delivered at this moment."""

    state: HealthState
    is_ok: bool
    #: What is wrong and what to do; empty while it is ok.
    sentence: str
