"""Cursor: how far an operation has come and how old its jobs are, as its row keeps it between turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Self

from django.db.models import Count, Max, Min, Q, QuerySet

from tasksapp.models import Job, Operation, Status

#: A place in an index, as JSON has it: an id, or a time and an id. None: the beginning.
Place = list[str] | None


class Ages(NamedTuple):
    """How old some jobs are.

    Args:
        oldest: when the first of them died, or was due where they are pending.
        newest: the same of the last.
        older: how many are older than the max age of their biz type.
    """

    oldest: datetime | None = None
    newest: datetime | None = None
    older: int = 0

    def plus(self, other: Ages) -> Ages:
        """Those of both together."""
        oldest = [at for at in (self.oldest, other.oldest) if at is not None]
        newest = [at for at in (self.newest, other.newest) if at is not None]
        return Ages(min(oldest, default=None), max(newest, default=None), self.older + other.older)


def count_with_ages(
    rows: QuerySet[Job], *, status: Status, now: datetime, max_age: timedelta | None
) -> tuple[int, Ages]:
    """How many jobs there are and how old they are, in one statement.

    Args:
        rows: the jobs, all in that status.
        status: the status.
        now: the present.
        max_age: that of their biz type.
    """
    column = "finished_at" if status == Status.DEAD else "due_at"
    wanted: dict[str, Any] = {"jobs": Count("pk"), "oldest": Min(column), "newest": Max(column)}
    if (since := _earliest(now, max_age)) is not None:
        # As tasksapp.models.job has it: the age is counted from the last redrive, or from the due time.
        used_up = Q(redriven_at__lt=since) | Q(redriven_at=None, due_at__lt=since)
        wanted["older"] = Count("pk", filter=used_up)
    found = rows.order_by().aggregate(**wanted)
    return found.pop("jobs"), Ages(**found)


def _earliest(now: datetime, max_age: timedelta | None) -> datetime | None:
    """What was due before is too old; None where nothing can be."""
    try:
        return None if max_age is None else now - max_age
    except OverflowError:
        return None


@dataclass(kw_only=True, slots=True)
class Walk:
    """The walk over the jobs of one biz type.

    Args:
        biz_type: its id.
        after: all rows up to here have been looked at in this pass.
        changed: rows that this pass has changed.
        over: whether a whole pass changed nothing, so that the walk has ended.
        last_at: when the job that went last is to start, in Unix ms; the pace counts from there.
        feed: jobs a second that may start beside the fresh ones, as learned so far; None: not learned yet.
        usual_ms: how late its jobs usually begin, as learned so far.
        was_late: whether they were later than that at any time, so that the feed grows slowly from then on.
        blocked_since: since when only rows that others hold are left, in Unix ms.
    """

    biz_type: int
    after: Place = None
    changed: int = 0
    over: bool = False
    last_at: float | None = None
    feed: float | None = None
    usual_ms: float | None = None
    was_late: bool = False
    blocked_since: int | None = None


@dataclass(kw_only=True, slots=True)
class Cursor:
    """What is known of an operation beside its columns.

    Args:
        starter: the kind of its starter.
        walks: one for each biz type that has jobs for it; empty before the planning step has looked.
        next_biz_type: the biz type that the next turn begins with, where the last one had no time for it.
        turn_at: when maintenance last had a turn with it, in Unix ms.
        per_second: the jobs that were changed a second, lately.
        seen_at: when ``done`` was last compared, in Unix ms.
        seen_done: what it was then.
        trial: ``running``, ``passed`` or ``failed``; None where there is none.
        trial_at: when the trial began, in Unix ms.
        oldest, newest, older: how old the jobs are that were counted; see :class:`tasksapp.operations.cursor.Ages`.
        waits: why nothing moves: ``why`` and what the sentence about it needs.
        holds: why its pace is not reached, while jobs go all the same: ``why`` and the biz type.
        schedule: what shows that the schedule of the series is still the one that was counted by.
    """

    starter: str = "code"
    walks: list[Walk] = field(default_factory=list)
    next_biz_type: int | None = None
    turn_at: int | None = None
    per_second: float = 0.0
    seen_at: int | None = None
    seen_done: int = 0
    trial: str | None = None
    trial_at: int | None = None
    oldest: str | None = None
    newest: str | None = None
    older: int = 0
    waits: dict[str, Any] = field(default_factory=dict)
    holds: dict[str, Any] = field(default_factory=dict)
    schedule: str = ""

    @property
    def ages(self) -> Ages:
        """How old the jobs are that were counted."""
        oldest, newest = (None if at is None else datetime.fromisoformat(at) for at in (self.oldest, self.newest))
        return Ages(oldest, newest, self.older)

    @ages.setter
    def ages(self, ages: Ages) -> None:
        self.oldest, self.newest = (None if at is None else at.isoformat() for at in ages[:2])
        self.older = ages.older

    @classmethod
    def of(cls, operation: Operation) -> Self:
        """The cursor of the operation. What a later release may have added does not count."""
        given: Mapping[str, Any] = operation.cursor
        known = {one.name for one in fields(cls)}
        cursor = cls(**{name: value for name, value in given.items() if name in known and name != "walks"})
        of_walk = {one.name for one in fields(Walk)}
        cursor.walks = [
            Walk(**{name: value for name, value in walk.items() if name in of_walk}) for walk in given.get("walks", ())
        ]
        return cursor

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def unix_ms(moment: datetime) -> int:
    """The moment in Unix ms."""
    return int(moment.timestamp() * 1000)
