"""RunningJob: a job whose lease this process holds."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from tasksapp.conf import options
from tasksapp.models import BizType, Job
from tasksapp.models.new_job import seal_place
from tasksapp.models.sealable import stored
from tasksapp.models.sealed_value import MARK, open_bytes, open_text
from tasksapp.sql.claim_answer import OF_OUTCOMES, ClaimedJob


class RunningJob(NamedTuple):
    """A job that this process runs.

    Args:
        row: its row, as the claim left it.
        biz_type: its biz type.
        token: the lease; an outcome without it is not written.
        pulled_at: when a puller claimed it; None where a worker did.
        is_sealed: whether it is encrypted at rest; its row is as it was before, once it is ``opened``.
    """

    row: ClaimedJob
    biz_type: BizType
    token: int
    pulled_at: datetime | None = None
    is_sealed: bool = False

    @classmethod
    def of(cls, job: Job, *, token: int, pulled_at: datetime | None = None) -> RunningJob:
        """The running job of a row that was claimed before, without its body; the arguments are those of the class."""
        columns = {name: stored(job, name) for name in OF_OUTCOMES}
        columns["max_attempts"] = job.max_attempts or job.biz_type.max_attempts
        row = ClaimedJob(**columns, body="", biz_type_revision=0)
        return cls(row, job.biz_type, token, pulled_at, job.is_sealed)

    def opened(self) -> RunningJob:
        """The same with what it carries decrypted. Raises SecretUnreadable, Tampered."""
        row, place = self.row, seal_place(self.row.biz_type_id, self.row.id)
        body, raw = row.body, row.raw
        if raw is None:
            body = open_text(body, place=f"{place}/body")
        else:
            raw = open_bytes(bytes(raw), place=f"{place}/raw")
        request = open_text(row.request, place=f"{place}/request")
        return self._replace(row=row._replace(body=body, raw=raw, request=request))

    @property
    def is_closed(self) -> bool:
        """Whether what its row has is still encrypted: it was read without its body, or no key opens it."""
        return self.row.request[:1] == MARK

    @property
    def id(self) -> UUID:
        """The job's id."""
        return self.row.id

    @property
    def lease_seconds(self) -> float:
        """How long a lease lasts, counted from the claim or the last renewal."""
        return options().lease_seconds + self.biz_type.timeout_seconds

    @property
    def claimed_at(self) -> datetime:
        """When it was claimed."""
        # The lease of a worker says so, as long as it was not renewed.
        return self.pulled_at or self.row.lease_until - timedelta(seconds=self.lease_seconds)

    @property
    def counted_at_claim(self) -> bool:
        """Whether the claim counted the attempt, so that it stays counted if the worker is lost."""
        return self.biz_type.guarantee == BizType.Guarantee.AT_MOST_ONCE

    @property
    def is_out_of_order(self) -> bool:
        """Whether jobs of its flow key that come after it in their order may have run before this attempt."""
        return self.row.redrives > 0 and self.row.place is not None and self.biz_type.ordered == BizType.Ordered.LETS_GO

    @property
    def attempt_number(self) -> int:
        """The number of the attempt under way, among all attempts ever made."""
        return self.row.attempts + (0 if self.counted_at_claim else 1)

    @property
    def attempt_of_budget(self) -> int:
        """The same, counted from the last redrive."""
        return self.attempt_number - self.row.attempt_base
