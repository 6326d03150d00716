"""Claims of jobs that are pulled, as the API shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from delayhub.client.models.jobs import JobStatus
from delayhub.job_fields import WithExactBytes

ClaimOutcome = Literal["done", "failed", "extended", "released"]


@dataclass(frozen=True, kw_only=True)
class Claim(WithExactBytes):
    """A job that this program holds for a while."""

    #: Ends or extends the claim. Keep it to yourself.
    token: str
    #: When the claim ends, unless it is extended.
    lease_until: datetime
    #: The same, counted from the claim.
    lease_seconds: float
    #: The same on every attempt: remember it, to do nothing twice.
    job_id: str
    biz_type: str
    biz_id: str
    due_at: datetime
    #: After it no other attempt begins; None: there is no such end.
    deadline: datetime | None
    #: The number of this attempt; a redrive counts from 1 again.
    attempt: int
    max_attempts: int
    redrives: int
    #: Those that a callback of the job would have, but for a signature.
    headers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ClaimAnswer:
    """The jobs that were claimed."""

    claims: Sequence[Claim]


@dataclass(frozen=True, kw_only=True)
class EndedClaim:
    """What became of a claim, and of its job."""

    outcome: ClaimOutcome
    #: Whether an earlier request with the token did it already.
    repeated: bool
    job_id: str
    biz_type: str
    biz_id: str
    #: Of the job, now.
    status: JobStatus
    #: All attempts ever made.
    attempts: int
    next_run_at: datetime
    #: Of an extended claim: when it ends.
    lease_until: datetime | None
