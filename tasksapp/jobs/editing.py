"""Editing: changes what a waiting job carries, how it is tried and when it is due."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import router, transaction
from django.utils import timezone

from tasksapp.access.actors import OWN_CODE, Actor
from tasksapp.access.audit import Deed
from tasksapp.errors import InvalidJob
from tasksapp.jobs.edited_bytes import UNSET, Unset, edited_bytes
from tasksapp.jobs.own_request_rule import edited_request
from tasksapp.jobs.requests import RULES
from tasksapp.jobs.resolved import refuse_resolved_key
from tasksapp.jobs.validation import DUE_AT, VERSION, due_time
from tasksapp.jobs.verbs import Values, Verb, change, follow_on_commit, locked, one_by_one
from tasksapp.models import BizType, Job, Status

#: Fields that are changed without a change of its time.
FREE = frozenset({"body", "priority", "max_attempts", "biz_id", "expires_at", "flow_key", "request", "raw"})


def edit(
    job_id: UUID,
    *,
    body: Any = UNSET,
    priority: int | Unset | None = UNSET,
    max_attempts: int | Unset | None = UNSET,
    biz_id: str | Unset = UNSET,
    expires_at: datetime | str | Unset | None = UNSET,
    flow_key: str | Unset = UNSET,
    request: dict[str, Any] | Unset | None = UNSET,
    raw: bytes | Unset = UNSET,
    content_type: str | Unset = UNSET,
    due_at: datetime | str | Unset = UNSET,
    version: int | None = None,
    by: Actor | None = None,
    reason: str = "",
    using: str | None = None,
) -> Job:
    """The pending job with other values in the fields that are given.

    Args:
        job_id: which job.
        body: any JSON value, or a WrittenJson, whose text is kept.
        priority: 0 goes first, 9 last; None for the biz type's own.
        max_attempts: all attempts of its budget; None for as many as the biz type says.
        biz_id: the business key.
        expires_at: no attempt begins from then on; None for no such end.
        flow_key: whose job it is; '' for a job without one.
        request: its own timeout, headers and URL, whole; None for none. A header that comes back masked stays as it is.
        raw: the exact bytes of its body, in the place of JSON; a ``body`` takes their place again.
        content_type: of the exact bytes.
        due_at: the new time, as :func:`tasksapp.jobs.reschedule` has it.
        version: the version that the caller saw; None for any.
        by: who does it, for the audit; None for the project's own code, which leaves no entry there.
        reason: why, for the audit.
        using: the database.

    Raises InvalidJob, JobNotFound, WrongState (the job is not pending), VersionConflict, and KeyResolved or OneIsLive
    where the job may not have that biz id.
    """
    using = using or router.db_for_write(Job)
    now = timezone.now()
    given = {
        "body": body,
        "priority": priority,
        "max_attempts": max_attempts,
        "biz_id": biz_id,
        "expires_at": expires_at,
        "flow_key": flow_key,
    }
    values: Values = {name: RULES[name](value) for name, value in given.items() if value is not UNSET}
    if due_at is not UNSET:
        values |= _moved(due_at, now=now)
    seen = VERSION(version)
    with transaction.atomic(using=using):
        job = locked(job_id, verb=Deed.EDIT, source=Status.PENDING, version=seen, using=using)
        if request is not UNSET:
            values["request"] = edited_request(RULES["request"], request, stored=job.request, biz_type=job.biz_type)
        values |= edited_bytes(job, values, raw=raw, content_type=content_type)
        former_key, values = job.flow_key, _changes(job, values)
        if values:
            values |= {"changed_by": (by or OWN_CODE).name, "version": job.version + 1, "updated_at": now}
            if "biz_id" in values:
                _check_key(job, values, using=using)
            with one_by_one(job, key=values.get("live_key", job.live_key), using=using):
                change(job, values, verb=Deed.EDIT, by=by, reason=reason, using=using)
            follow_on_commit(
                [job], verb=Deed.EDIT, by=by, using=using, former_key=former_key, look_again="biz_id" in values
            )
    return job


def _check_key(job: Job, values: Values, *, using: str) -> None:
    """Adds what follows from a new biz id. Raises KeyResolved where it is resolved."""
    key = values["biz_id"]
    if key == job.biz_id:
        return
    refuse_resolved_key(job, key, using=using)
    if job.biz_type.one_live != BizType.OneLive.ANY:
        values["live_key"] = key or None


def _moved(due_at: Any, *, now: datetime) -> Values:
    given = DUE_AT(due_at)
    if given is None:
        raise InvalidJob("due_at", "required", "due_at may not be empty")
    due = due_time(due=given, wait=None, now=now)
    return Verb.RESCHEDULE.changes(now=now, due=due)


def _changes(job: Job, values: Values) -> Values:
    """The values that differ from the job's; none where nothing does. Raises InvalidJob."""
    if "priority" in values and values["priority"] is None:
        values["priority"] = job.biz_type.priority
    most = values.get("max_attempts")
    if most is not None and most <= job.attempts_used:
        text = f"max_attempts must be more than the {job.attempts_used} attempts that were made, got {most}"
        raise InvalidJob("max_attempts", "too_few", text)
    ends = values.get("expires_at")
    if ends is not None and ends != job.expires_at and ends <= values.get("due_at", job.due_at):
        raise RULES["expires_at"].refusal("too_early", "must be later than the time at which the job is due")
    if values.get("due_at") == job.due_at:
        # The same due time: a retry that waits keeps its own.
        values = {name: value for name, value in values.items() if name in FREE}
    return values if any(_stored(job, name) != value for name, value in values.items()) else {}


def _stored(job: Job, name: str) -> Any:
    value = getattr(job, name)
    return bytes(value) if isinstance(value, memoryview) else value  # as psycopg2 gives bytes
