"""Ages: how old the jobs of an operation are, found while they are counted."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Max, Min, Q, QuerySet

from tasksapp.models import Job, Status


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
