"""The rule of ``max_age``: no attempt begins later than that after the due time, or after the last redrive."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol


class Aging(Protocol):
    """A job, or a part of its row, that says when its age begins."""

    @property
    def due_at(self) -> datetime: ...

    @property
    def redriven_at(self) -> datetime | None: ...


def age_begins(job: Aging) -> datetime:
    """From when a job's age is counted."""
    return job.redriven_at or job.due_at


def age_used_up(*, now: datetime, counted_from: datetime, max_age: timedelta | None) -> bool:
    """Whether an attempt may no longer begin at that moment.

    The claim in ``tasksapp/sql`` has the same rule in SQL; a test compares the two.
    """
    # A difference: the sum of due time and age may lie beyond the last date there is.
    return max_age is not None and now - counted_from > max_age
