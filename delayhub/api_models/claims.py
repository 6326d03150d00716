"""Claims of jobs that are pulled, as the API shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from delayhub.api_models.jobs import JobStatus
from delayhub.job_fields import WithExactBytes

ClaimOutcome = Literal["done", "failed", "extended", "released"]


@dataclass(frozen=True, kw_only=True)
class Claim(WithExactBytes):
    """A job that this program holds for a while."""

    token: Annotated[str, "Ends or extends the claim. Keep it to yourself."]
    lease_until: Annotated[datetime, "When the claim ends, unless it is extended."]
    lease_seconds: Annotated[float, "The same, counted from the claim."]
    job_id: Annotated[str, UUID, "The same on every attempt: remember it, to do nothing twice."]
    biz_type: str
    biz_id: str
    due_at: Annotated[datetime, "What the caller asked for."]
    deadline: Annotated[datetime | None, "No attempt begins later: by the biz type's `max_age`, or the job's own end."]
    attempt: Annotated[int, "The number of this attempt; a redrive counts from 1 again."]
    max_attempts: int
    redrives: Annotated[int, "How often the job was redriven."]
    headers: Annotated[Mapping[str, str], "Those that a callback of the job would have, but for a signature."]


@dataclass(frozen=True, kw_only=True)
class ClaimAnswer:
    """The jobs that were claimed."""

    claims: Sequence[Claim]


@dataclass(frozen=True, kw_only=True)
class EndedClaim:
    """What became of a claim, and of its job."""

    outcome: ClaimOutcome
    repeated: Annotated[bool, "Whether an earlier request with the token did it already."]
    job_id: Annotated[str, UUID]
    biz_type: str
    biz_id: str
    status: Annotated[JobStatus, "Of the job, now."]
    attempts: Annotated[int, "All attempts ever made."]
    next_run_at: Annotated[datetime, "When a pending job runs next."]
    lease_until: Annotated[datetime | None, "Of an extended claim: when it ends."]
