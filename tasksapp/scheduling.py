"""Creating jobs: in the caller's transaction, armed when it commits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db import router, transaction
from django.utils import timezone

from tasksapp import rules
from tasksapp.admission import admit
from tasksapp.catalogue import catalogue
from tasksapp.conf import options
from tasksapp.errors import InvalidJob, JobError, KeyTaken
from tasksapp.models import BizType, Job
from tasksapp.models.job_id import new_job_ids
from tasksapp.sql.claim_keys import KeyClaim, claim_keys
from tasksapp.sql.insert_jobs import NewJob, insert_jobs
from tasksapp.timers import Timer, arm


@dataclass(frozen=True, kw_only=True, slots=True)
class JobRequest:
    """What a caller asks for; ``tasksapp.rules`` says what each field may be.

    Args:
        biz_type: the biz type's code.
        biz_id: the business key, such as an order number.
        due_at: when it is due, with a time zone; or
        delay: how long from now. Neither: at once.
        body: any JSON value.
        priority: 0 (goes first) to 9; None for the biz type's own.
        max_attempts: None for as many as the biz type says.
        idempotency_key: the same request with the same key makes one job.
        traceparent: W3C trace context of the request, handed on to the receiver.
    """

    biz_type: str
    biz_id: str = ""
    due_at: datetime | str | None = None
    delay: timedelta | float | None = None
    body: Any = None
    priority: int | None = None
    max_attempts: int | None = None
    idempotency_key: str | None = None
    traceparent: str = ""


@dataclass(frozen=True, kw_only=True)
class Created:
    """A job that exists now.

    Args:
        job_id: its id.
        created: False where an earlier request with the same idempotency key made it.
        armed: whether its timer is set, as far as it needs one; None inside a transaction that is still open.
        was_past: whether the due time had passed already; the job fires at once.
    """

    job_id: UUID
    created: bool
    armed: bool | None
    was_past: bool
    using: str = field(repr=False)
    row: NewJob | None = field(default=None, repr=False)
    now: datetime | None = field(default=None, repr=False)

    @cached_property
    def job(self) -> Job:
        """The job as it was created, or as it is now where an earlier request made it."""
        if self.row is None or self.now is None:
            return Job.objects.using(self.using).get(id=self.job_id)
        job = self.row.as_job(now=self.now)
        job._state.adding, job._state.db = False, self.using
        return job


@dataclass(frozen=True, slots=True)
class Rejected:
    """A request of a bulk that made no job, and why."""

    error: JobError


class _Draft(NamedTuple):
    """A request that passed the rules, and the row it asks for."""

    row: NewJob
    biz_type: BizType
    key: str | None
    request: JobRequest


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
    traceparent: str = "",
    using: str | None = None,
) -> Created:
    """A new job, or the one that the idempotency key made before.

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
        traceparent=traceparent,
    )
    (outcome,) = create_many([request], using=using)
    if isinstance(outcome, Rejected):
        raise outcome.error
    return outcome


def create_many(requests: Sequence[JobRequest], *, using: str | None = None) -> list[Created | Rejected]:
    """What became of each request, in order. The good ones are created together; a bad one holds none of them up."""
    using = using or router.db_for_write(Job)
    now = timezone.now()
    drafts = _drafts(requests, now=now, using=using)
    _admit(drafts)
    good = [draft for draft in drafts if isinstance(draft, _Draft)]
    arming = _Arming()
    earlier: dict[UUID, UUID | KeyTaken] = {}
    if good:
        # A statement alone is a transaction already; keys and jobs need one around both.
        keyed = any(draft.key for draft in good)
        if keyed:
            with transaction.atomic(using=using):
                earlier = _claim_keys(good, now=now, using=using)
                _insert(good, earlier, arming, now=now, using=using)
        else:
            _insert(good, earlier, arming, now=now, using=using)
    return [_outcome(draft, earlier, arming.armed, now=now, using=using) for draft in drafts]


@dataclass
class _Arming:
    """Whether timers were set: None until the transaction commits."""

    armed: bool | None = None

    def run(self, timers: Sequence[Timer]) -> None:
        self.armed = arm(timers)


def _drafts(requests: Sequence[JobRequest], *, now: datetime, using: str) -> list[_Draft | Rejected]:
    codes = {request.biz_type for request in requests if isinstance(request.biz_type, str)}
    known = catalogue.find(codes, using=using)
    drafts: list[_Draft | Rejected] = []
    for job_id, request in zip(new_job_ids(len(requests)), requests, strict=True):
        try:
            drafts.append(_draft(job_id, request, known, now=now))
        except InvalidJob as error:
            drafts.append(Rejected(error))
    return drafts


def _draft(job_id: UUID, request: JobRequest, known: dict[str, BizType], *, now: datetime) -> _Draft:
    biz_type = known.get(rules.biz_type(request.biz_type))
    if biz_type is None:
        raise InvalidJob("biz_type", "unknown", f"there is no biz type {request.biz_type!r}")
    if not biz_type.enabled:
        raise InvalidJob("biz_type", "disabled", f"the biz type {biz_type.code} is disabled")
    due = rules.moment_of(due=rules.due_at(request.due_at), wait=rules.delay(request.delay), now=now)
    priority = rules.priority(request.priority)
    row = NewJob(
        job_id,
        biz_type.id,
        rules.biz_id(request.biz_id),
        due,
        rules.body(request.body),
        biz_type.priority if priority is None else priority,
        rules.max_attempts(request.max_attempts),
        rules.traceparent(request.traceparent),
    )
    return _Draft(row, biz_type, rules.idempotency_key(request.idempotency_key), request)


def _admit(drafts: list[_Draft | Rejected]) -> None:
    """Turns drafts beyond their biz type's insert rate into rejections."""
    limited: dict[str, list[int]] = {}
    for index, draft in enumerate(drafts):
        if isinstance(draft, _Draft) and draft.biz_type.insert_rate:
            limited.setdefault(draft.biz_type.code, []).append(index)
    for indexes in limited.values():
        first = drafts[indexes[0]]
        assert isinstance(first, _Draft)
        admitted, refusal = admit(first.biz_type, count=len(indexes))
        if refusal is not None:
            for index in indexes[admitted:]:
                drafts[index] = Rejected(refusal)


def _claim_keys(drafts: Sequence[_Draft], *, now: datetime, using: str) -> dict[UUID, UUID | KeyTaken]:
    """For drafts whose key was used before: the job it made, or the refusal."""
    claims: dict[tuple[int, str], KeyClaim] = {}
    hashes: dict[UUID, str] = {}
    for draft in drafts:
        if draft.key is not None:
            hashes[draft.row.id] = _request_hash(draft)
            claim = KeyClaim(draft.row.biz_type_id, draft.key, hashes[draft.row.id], draft.row.id)
            claims.setdefault((claim.biz_type_id, claim.key), claim)
    expires_at = now + timedelta(hours=options().idempotency_hours)
    holders = claim_keys(list(claims.values()), now=now, expires_at=expires_at, using=using)
    earlier: dict[UUID, UUID | KeyTaken] = {}
    for draft in drafts:
        if draft.key is None:
            continue
        holder = holders[draft.row.biz_type_id, draft.key]
        if holder.request_hash != hashes[draft.row.id]:
            earlier[draft.row.id] = KeyTaken(draft.key, holder.job_id)
        elif holder.job_id != draft.row.id:
            earlier[draft.row.id] = holder.job_id
    return earlier


def _insert(
    drafts: Sequence[_Draft], earlier: dict[UUID, UUID | KeyTaken], arming: _Arming, *, now: datetime, using: str
) -> None:
    fresh = [draft for draft in drafts if draft.row.id not in earlier]
    insert_jobs([draft.row for draft in fresh], now=now, using=using)
    timers = [
        Timer(draft.biz_type.lane, draft.biz_type.code, draft.row.id, draft.row.due_at, draft.row.priority)
        for draft in fresh
    ]
    transaction.on_commit(partial(arming.run, timers), using=using, robust=True)


def _outcome(
    draft: _Draft | Rejected,
    earlier: dict[UUID, UUID | KeyTaken],
    armed: bool | None,
    *,
    now: datetime,
    using: str,
) -> Created | Rejected:
    if isinstance(draft, Rejected):
        return draft
    match earlier.get(draft.row.id):
        case KeyTaken() as refusal:
            return Rejected(refusal)
        case UUID() as job_id:
            return Created(job_id=job_id, created=False, armed=armed, was_past=draft.row.due_at < now, using=using)
    return Created(
        job_id=draft.row.id,
        created=True,
        armed=armed,
        was_past=draft.row.due_at < now,
        using=using,
        row=draft.row,
        now=now,
    )


def _request_hash(draft: _Draft) -> str:
    """SHA-256 of what the caller asked for: a delay counts as a delay, whenever it is asked for again."""
    wait = rules.delay(draft.request.delay)
    asked = {
        "biz_id": draft.row.biz_id,
        "due_at": None if draft.request.due_at is None else draft.row.due_at.isoformat(),
        "delay": None if wait is None else wait.total_seconds(),
        "body": json.loads(draft.row.body),
        "priority": draft.request.priority,
        "max_attempts": draft.row.max_attempts,
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
