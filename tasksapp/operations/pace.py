"""Pace: how many jobs may go in one turn, and when each of them starts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tasksapp.operations.cursor import Walk

#: "As many as there are": a turn ends by its time.
ALL = 1_000_000_000
#: Time that passed without a turn is made up for, but no more of it than this.
MOST_CREDIT_MS = 2_000.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many jobs may go now.

    Args:
        jobs: how many.
        first_at: when the first of them starts, in Unix ms; None where the verb gives them no time.
        step_ms: how much later each of the others starts.
        waits: why there are none, as the cursor keeps it.
    """

    jobs: int
    first_at: float | None = None
    step_ms: float = 0.0
    waits: dict[str, Any] = field(default_factory=dict)

    def times(self, count: int) -> list[float]:
        """When the next so many jobs start, in Unix ms; empty where the verb gives them no time."""
        if self.first_at is None:
            return []
        return [self.first_at + index * self.step_ms for index in range(count)]

    def after(self, count: int) -> Allowance:
        """What is left once so many have gone."""
        first_at = None if self.first_at is None else self.first_at + count * self.step_ms
        return replace(self, jobs=self.jobs - count, first_at=first_at)


def allowance(
    walk: Walk, *, pace: float | None, now_ms: float, due_ms: float | None = None, ahead_ms: float = 0.0
) -> Allowance:
    """How many jobs may go in a turn.

    Args:
        walk: says when the last job went.
        pace: jobs a second; None for as many as there are.
        now_ms: the time.
        due_ms: the new time of rescheduled jobs: they all change now, and start from then on at that pace.
        ahead_ms: jobs that become due go so long before they start; 0: they start nothing.
    """
    step_ms = 1000 / pace if pace else 0.0
    next_at = None if walk.last_at is None else walk.last_at + step_ms
    if due_ms is not None:
        return Allowance(ALL, due_ms if next_at is None else max(due_ms, next_at), step_ms)
    if pace is None:
        return Allowance(ALL)
    earliest = now_ms if ahead_ms else now_ms - MOST_CREDIT_MS
    begin = now_ms if next_at is None else max(earliest, next_at)
    jobs = int((now_ms + ahead_ms - begin) // step_ms) + 1 if begin <= now_ms + ahead_ms else 0
    return Allowance(jobs, begin if ahead_ms else None, step_ms)
