"""What callers ask for, and the rows it asks for once the rules have passed it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.insert_limit import allow_inserts
from tasksapp.errors import InvalidJob, JobError
from tasksapp.jobs import validation as rules
from tasksapp.models import BizType
from tasksapp.models.job_id import new_job_ids
from tasksapp.sql.insert_jobs import NewJob


@dataclass(kw_only=True, slots=True)  # not frozen: that doubles the price of making one
class JobRequest:
    """What a caller asks for; ``tasksapp.jobs.validation`` says what each field may be.

    Args:
        biz_type: the biz type's code.
        biz_id: the business key, such as an order number.
        due_at: when it is due, with a time zone; or
        delay: how long from now. Neither: at once.
        body: any JSON value.
        priority: 0 (goes first) to 9; None for the biz type's own.
        max_attempts: None for as many as the biz type says.
        idempotency_key: the same request with the same key makes one job.
        debounce_key: while a job with this key waits for its first attempt, this request replaces it.
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
    debounce_key: str | None = None
    traceparent: str = ""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A request of a bulk that made no job, and why."""

    error: JobError


class Draft(NamedTuple):
    """A request that passed the rules, and the row it asks for."""

    row: NewJob
    biz_type: BizType
    key: str | None
    request: JobRequest


def drafts_of(requests: Sequence[JobRequest], *, now: datetime, using: str) -> list[Draft | Rejected]:
    """Each request's draft, or why there is none: it breaks a rule, or its biz type takes no more jobs for now."""
    codes = {request.biz_type for request in requests if isinstance(request.biz_type, str)}
    known = biz_type_cache.find(codes, using=using)
    drafts: list[Draft | Rejected] = []
    for job_id, request in zip(new_job_ids(len(requests)), requests, strict=True):
        try:
            drafts.append(_draft(job_id, request, known, now=now))
        except InvalidJob as error:
            drafts.append(Rejected(error))
    _admit(drafts)
    return drafts


def request_hash(draft: Draft) -> str:
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
    if draft.row.debounce_key:
        asked["debounce_key"] = draft.row.debounce_key
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _draft(job_id: UUID, request: JobRequest, known: dict[str, BizType], *, now: datetime) -> Draft:
    biz_type = known.get(request.biz_type) if isinstance(request.biz_type, str) else None
    if biz_type is None:
        rules.biz_type(request.biz_type)
        raise InvalidJob("biz_type", "unknown", f"there is no biz type {request.biz_type!r}")
    if not biz_type.enabled:
        raise InvalidJob("biz_type", "disabled", f"the biz type {biz_type.code} is disabled")
    due = rules.due_time(due=rules.due_at(request.due_at), wait=rules.delay(request.delay), now=now)
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
        rules.debounce_key(request.debounce_key),
    )
    return Draft(row, biz_type, rules.idempotency_key(request.idempotency_key), request)


def _admit(drafts: list[Draft | Rejected]) -> None:
    """Turns drafts beyond their biz type's insert rate into rejections."""
    limited: dict[str, list[int]] = {}
    for index, draft in enumerate(drafts):
        if isinstance(draft, Draft) and draft.biz_type.insert_rate:
            limited.setdefault(draft.biz_type.code, []).append(index)
    for indexes in limited.values():
        first = drafts[indexes[0]]
        assert isinstance(first, Draft)
        allowed, refusal = allow_inserts(first.biz_type, count=len(indexes))
        if refusal is not None:
            for index in indexes[allowed:]:
                drafts[index] = Rejected(refusal)
