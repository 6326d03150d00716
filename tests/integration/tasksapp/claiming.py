"""Claiming jobs, as a worker does whose timers fired."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from tasksapp.sql.claim_jobs import ClaimAnswer, claim_jobs


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
