"""The trial of an operation: the first jobs go, and the others only if enough first attempts succeed."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple
from uuid import UUID

from delayhub.clock import moment
from tasksapp.models import LIVE, Attempt, Job, Operation, Status
from tasksapp.operations.cursor import Cursor


class TrialResult(NamedTuple):
    """How the first attempts of the trial's jobs ended so far.

    Args:
        jobs: those that count: not the ones that somebody called off or took over meanwhile.
        succeeded: first attempts that succeeded.
        failed: those that failed, and jobs that ended without an attempt.
    """

    jobs: int
    succeeded: int
    failed: int

    @property
    def ended(self) -> int:
        """How many have ended."""
        return self.succeeded + self.failed

    def verdict(self, *, percent: int) -> str:
        """``passed``, ``failed``, or ``running`` while more attempts are needed to know.

        Args:
            percent: how many of a hundred must succeed.
        """
        if (self.jobs - self.failed) * 100 < self.jobs * percent:
            return "failed"
        return "passed" if self.ended == self.jobs else "running"


def trial_result(operation: Operation, cursor: Cursor, *, using: str) -> TrialResult:
    """How the trial stands.

    Args:
        operation: all its jobs so far are the trial's.
        cursor: says since when attempts count.
        using: the database.
    """
    jobs = Job.objects.using(using).filter(operation_id=operation.pk)
    statuses: dict[UUID, str] = dict(jobs.values_list("id", "status"))
    attempts = Attempt.objects.using(using).filter(job_id__in=statuses, started_at__gte=moment(cursor.trial_at or 0))
    first: dict[UUID, str] = {}
    for job_id, error in attempts.order_by("job_id", "number").values_list("job_id", "error"):
        first.setdefault(job_id, "failed" if error else "succeeded")
    found = Counter(first.get(job_id) or _without_attempt(status) for job_id, status in statuses.items())
    return TrialResult(len(statuses) - found["gone"], found["succeeded"], found["failed"])


def _without_attempt(status: str) -> str:
    """What a job counts as that has no attempt since the trial began."""
    if status in LIVE:
        return "waiting"
    if status == Status.SUCCEEDED:
        return "succeeded"
    return "failed" if status in {Status.DEAD, Status.SKIPPED} else "gone"
