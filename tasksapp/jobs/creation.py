"""Creating jobs: in the caller's transaction, armed when it commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import router, transaction
from django.utils import timezone

from tasksapp.conf import options
from tasksapp.errors import KeyTaken
from tasksapp.jobs.requests import Draft, JobRequest, Rejected, drafts_of, request_hash
from tasksapp.models import Job
from tasksapp.sql.claim_keys import KeyClaim, claim_keys, repoint_key
from tasksapp.sql.driver import health_check
from tasksapp.sql.insert_jobs import NewJob, insert_jobs
from tasksapp.sql.replace_jobs import replace_jobs
from tasksapp.timers.arming import arm, move
from tasksapp.timers.timer import Groups, Timer, grouped

__all__ = ["Created", "JobRequest", "Rejected", "create", "create_many"]


@dataclass(slots=True)
class Birth:
    """When and where jobs were created together, and whether their timers are set."""

    now: datetime
    using: str
    armed: bool | None = None


@dataclass(kw_only=True)  # not frozen: that doubles the price of making one
class Created:
    """A job that exists now.

    Args:
        job_id: its id.
        created: False where an earlier request made it.
        replaced: whether this request took the place of another one's, of the same debounce key, that still waited.
        was_past: whether the due time had passed already; the job fires at once.
        birth: what it has in common with the jobs that were created together with it.
        row: its row as it was created; None where an earlier request made it.
    """

    job_id: UUID
    created: bool
    replaced: bool
    was_past: bool
    birth: Birth = field(repr=False)
    row: NewJob | None = field(default=None, repr=False)

    @property
    def armed(self) -> bool | None:
        """Whether its timer is set, as far as it needs one; None while the transaction is open."""
        return self.birth.armed

    @cached_property
    def job(self) -> Job:
        """The job as it was created, or as it is now where an earlier request made it."""
        if self.row is None:
            return Job.objects.using(self.birth.using).get(id=self.job_id)
        job = self.row.as_job(now=self.birth.now)
        job._state.adding, job._state.db = False, self.birth.using
        return job


def create(
    biz_type: str,
    *,
    biz_id: str = "",
    due_at: datetime | str | None = None,
    delay: timedelta | float | None = None,
    body: Any = None,
    priority: int | None = None,
    max_attempts: int | None = None,
    idempotency_key: str | None = None,
    debounce_key: str | None = None,
    traceparent: str = "",
    using: str | None = None,
) -> Created:
    """A new job, the one that the idempotency key made before, or the pending one that the debounce key stands for.

    Raises InvalidJob, KeyTaken or TooManyInserts.
    """
    request = JobRequest(
        biz_type=biz_type,
        biz_id=biz_id,
        due_at=due_at,
        delay=delay,
        body=body,
        priority=priority,
        max_attempts=max_attempts,
        idempotency_key=idempotency_key,
        debounce_key=debounce_key,
        traceparent=traceparent,
    )
    (outcome,) = create_many([request], using=using)
    if isinstance(outcome, Rejected):
        raise outcome.error
    return outcome


def create_many(requests: Sequence[JobRequest], *, using: str | None = None) -> list[Created | Rejected]:
    """What became of each request, in order: Created, or Rejected with the error. One bad request holds up no other."""
    using = using or router.db_for_write(Job)
    health_check.trust(using)
    now = timezone.now()
    drafts = drafts_of(requests, now=now, using=using)
    batch = _Batch([draft for draft in drafts if isinstance(draft, Draft)], Birth(now, using))
    if batch.drafts:
        batch.save()
        health_check.answered(using)
    made = iter(batch.outcomes)
    return [draft if isinstance(draft, Rejected) else next(made) for draft in drafts]


@dataclass
class _Batch:
    """Drafts on their way into the database, and what becomes of them.

    Args:
        drafts: those that nothing spoke against.
        birth: when and where they are created.
        earlier: by row id, the job that the draft's idempotency key made before, or the refusal.
        became: by row id, the job that the draft's debounce key stands for now.
        replaced: row ids of the drafts whose content that job has now, in the place of what it had.
        outcomes: what the caller of each is told, once they are written.
    """

    drafts: Sequence[Draft]
    birth: Birth
    earlier: dict[UUID, UUID | KeyTaken] = field(default_factory=dict)
    became: dict[UUID, UUID] = field(default_factory=dict)
    replaced: set[UUID] = field(default_factory=set)
    outcomes: Sequence[Created | Rejected] = ()

    def save(self) -> None:
        """Writes them, in the caller's transaction if there is one."""
        keyed = any(draft.key is not None for draft in self.drafts)
        debounced = any(draft.row.debounce_key for draft in self.drafts)
        # A statement alone is a transaction already; several need one around them.
        if keyed or (debounced and len(self.drafts) > 1):
            with transaction.atomic(using=self.birth.using):
                self._write(keyed=keyed, debounced=debounced)
        else:
            self._write(keyed=keyed, debounced=debounced)

    def _outcome(self, draft: Draft) -> Created | Rejected:
        own = draft.row.id
        earlier = self.earlier.get(own)
        if isinstance(earlier, KeyTaken):
            return Rejected(KeyTaken(earlier.key, self.became.get(earlier.job_id, earlier.job_id)))
        job_id = earlier or own
        job_id = self.became.get(job_id, job_id)
        if job_id == own:
            return self._created(draft)
        was_past = draft.row.due_at < self.birth.now
        return Created(job_id=job_id, created=False, replaced=own in self.replaced, was_past=was_past, birth=self.birth)

    def _created(self, draft: Draft) -> Created:
        row, birth = draft.row, self.birth
        return Created(
            job_id=row.id, created=True, replaced=False, was_past=row.due_at < birth.now, birth=birth, row=row
        )

    def _write(self, *, keyed: bool, debounced: bool) -> None:
        if keyed:
            self._claim_keys()
        fresh = [draft for draft in self.drafts if draft.row.id not in self.earlier] if keyed else self.drafts
        plain = [draft for draft in fresh if not draft.row.debounce_key] if debounced else fresh
        added: Groups = {}

        def prepare() -> None:
            nonlocal added
            added = grouped(_timer(draft, draft.row.id) for draft in plain)
            self.outcomes = [self._created(draft) for draft in plain]

        if plain:
            insert_jobs([draft.row for draft in plain], now=self.birth.now, using=self.birth.using, meanwhile=prepare)
        moved = self._replace(fresh) if debounced else []
        if len(plain) < len(self.drafts):
            self.outcomes = [self._outcome(draft) for draft in self.drafts]

        def set_timers() -> None:
            # Both are tried: a replaced job may run later than its timer says, which only a move puts right.
            in_time = arm(added)
            self.birth.armed = (not moved or move(moved)) and in_time

        transaction.on_commit(set_timers, using=self.birth.using, robust=True)

    def _replace(self, drafts: Sequence[Draft]) -> list[Timer]:
        """Writes those with a debounce key; of several with the same key the last one counts."""
        latest = {(d.row.biz_type_id, d.row.debounce_key): d for d in drafts if d.row.debounce_key}
        became = replace_jobs([draft.row for draft in latest.values()], now=self.birth.now, using=self.birth.using)
        for draft in drafts:
            if not draft.row.debounce_key:
                continue
            job_id = became[latest[draft.row.biz_type_id, draft.row.debounce_key].row.id]
            self.became[draft.row.id] = job_id
            if draft.key is not None and job_id != draft.row.id:
                repoint_key(draft.row.biz_type_id, draft.key, job_id, using=self.birth.using)
        self.replaced = {row_id for row_id, job_id in became.items() if job_id != row_id}
        return [_timer(draft, became[draft.row.id]) for draft in latest.values()]

    def _claim_keys(self) -> None:
        """Finds the drafts whose idempotency key was used before."""
        claims: dict[tuple[int, str], KeyClaim] = {}
        hashes: dict[UUID, str] = {}
        for draft in self.drafts:
            if draft.key is not None:
                hashes[draft.row.id] = request_hash(draft)
                claim = KeyClaim(draft.row.biz_type_id, draft.key, hashes[draft.row.id], draft.row.id)
                claims.setdefault((claim.biz_type_id, claim.key), claim)
        expires_at = self.birth.now + timedelta(hours=options().idempotency_hours)
        holders = claim_keys(list(claims.values()), now=self.birth.now, expires_at=expires_at, using=self.birth.using)
        for draft in self.drafts:
            if draft.key is None:
                continue
            holder = holders[draft.row.biz_type_id, draft.key]
            if holder.request_hash != hashes[draft.row.id]:
                self.earlier[draft.row.id] = KeyTaken(draft.key, holder.job_id)
            elif holder.job_id != draft.row.id:
                self.earlier[draft.row.id] = holder.job_id


def _timer(draft: Draft, job_id: UUID) -> Timer:
    return Timer(draft.biz_type.lane, draft.biz_type.code, job_id, draft.row.due_at, draft.row.priority)
