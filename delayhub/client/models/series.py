"""Series: jobs that repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypedDict

from delayhub.job_fields import Carries, Content

Overlap = Literal["start", "skip", "cancel"]
CatchUp = Literal["none", "latest", "all"]


class ScheduleFields(TypedDict, total=False):
    """When a series runs: one of ``cron``, ``every`` and ``times``, and what bounds it."""

    #: Five fields, or six with seconds first.
    cron: str
    #: Of the cron expression, such as ``Asia/Shanghai``.
    time_zone: str
    #: How long from one to the next; a number is seconds.
    every: timedelta | float | None
    times: Sequence[datetime | str] | None
    #: One of the moments that the interval leads to. None: its beginning.
    anchor: datetime | str | None
    starts_at: datetime | str | None
    ends_at: datetime | str | None
    #: It ends after so many.
    count: int | None
    #: Each is due up to so much later.
    jitter: timedelta | float | None


class JobSeriesFields(ScheduleFields, Content, total=False):
    """What may be set of a series: when it runs, and what its jobs carry.

    Of their own request a header that is given as ``(hidden)`` stays as it is.
    """

    #: Unique in its biz type.
    name: str
    overlap: Overlap
    catch_up: CatchUp
    biz_id: str


class SeriesQuery(TypedDict, total=False):
    """Which series: those for which everything holds that is given."""

    biz_type: str | None
    name: str | None
    paused: bool | None


@dataclass(frozen=True, kw_only=True)
class JobSeries(Carries):
    """A series: jobs that repeat."""

    id: int
    biz_type: str
    #: Unique in its biz type.
    name: str
    #: '': not by cron.
    cron: str
    #: Seconds. None: not by interval.
    every: float | None
    times: Sequence[datetime]
    time_zone: str
    anchor: datetime | None
    starts_at: datetime | None
    ends_at: datetime | None
    count: int | None
    #: Seconds.
    jitter: float
    overlap: Overlap
    catch_up: CatchUp
    #: What the schedule means.
    words: str
    #: None: paused, or at its end.
    next_at: datetime | None
    #: Occurrences made so far.
    made: int
    live_job: str | None
    paused_at: datetime | None
    paused_by: str
    pause_reason: str
    #: The task in code that declares it.
    declared_by: str
    #: Grows with each change.
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class SchedulePreview:
    """What a schedule means, and its next moments."""

    words: str
    occurrences: Sequence[datetime]


@dataclass(frozen=True, kw_only=True)
class Triggered:
    """A job that was made by hand."""

    job_id: str
