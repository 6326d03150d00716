"""Series: jobs that repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal, TypedDict
from uuid import UUID

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
    name: Annotated[str, "Unique in its biz type."]
    cron: Annotated[str, "Five fields, or six with seconds first; '': not by cron."]
    every: Annotated[float | None, "Seconds from one to the next. None: not by interval."]
    times: Annotated[Sequence[datetime], "Empty: not by a list."]
    time_zone: Annotated[str, "Of the cron expression."]
    anchor: Annotated[datetime | None, "One of the moments that the interval leads to."]
    starts_at: Annotated[datetime | None, "No job is due before."]
    ends_at: Annotated[datetime | None, "No job is due after."]
    count: Annotated[int | None, "It ends after so many."]
    jitter: Annotated[float, "Each is due up to so many seconds later."]
    overlap: Annotated[Overlap, "When the one before still lives."]
    catch_up: Annotated[CatchUp, "Which run after an outage."]
    words: Annotated[str, "What the schedule means."]
    next_at: Annotated[datetime | None, "The next moment. None: paused, or at its end."]
    made: Annotated[int, "Occurrences made so far."]
    live_job: Annotated[str | None, UUID, "The one that has not finished, where that matters."]
    paused_at: datetime | None
    paused_by: str
    pause_reason: str
    declared_by: Annotated[str, "The task in code that declares it."]
    version: Annotated[int, "Grows with each change."]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class SchedulePreview:
    """What a schedule means, and its next moments."""

    words: str
    occurrences: Annotated[Sequence[datetime], "The next ones, without jitter."]


@dataclass(frozen=True, kw_only=True)
class Triggered:
    """A job that was made by hand."""

    job_id: Annotated[str, UUID]
