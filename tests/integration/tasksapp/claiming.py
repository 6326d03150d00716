"""Claiming jobs, as a worker does whose timers fired."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from tasksapp.models import Job
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.sql.claim_jobs import claim_jobs
from tasksapp.sql.leases import return_lost_leases


def claim(*ids: UUID, now: datetime | None = None, worker: str = "w", forward_seconds: float = 0) -> ClaimAnswer:
    """What the claim answers for these jobs; what it gave is leased for a minute."""
    return claim_jobs(
        ids,
        now=now or timezone.now(),
        lease_seconds=60,
        worker=worker,
        using="default",
        forward_seconds=forward_seconds,
    )


def return_lost(*, now: datetime) -> list[Job]:
    """The jobs whose leases ran out before then, given back; the third loss is the last."""
    return return_lost_leases(now=now, limit=100, max_system_errors=3, using="default")
