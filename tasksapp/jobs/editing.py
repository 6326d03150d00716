"""Editing: changes what a waiting job carries, how it is tried and when it is due."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Unpack
from uuid import UUID

from django.db import router, transaction
from django.utils import timezone

from delayhub.job_fields import JobChange
from tasksapp.access.actors import OWN_CODE, Actor
from tasksapp.access.audit import Deed
from tasksapp.access.quotas import refuse_more_bytes
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.errors import InvalidJob
from tasksapp.jobs.at_rest import said_at_rest
from tasksapp.jobs.exact_bytes import content_type_of, with_content_type
from tasksapp.jobs.masking import refuse_masks
from tasksapp.jobs.own_request_rule import edited_request
from tasksapp.jobs.requests import ORDERED_PRIORITY, RULES, fields_on
from tasksapp.jobs.resolved import refuse_resolved_key
from tasksapp.jobs.validation import VERSION, Face
from tasksapp.jobs.verbs import Values, Verb, change, follow_on_commit, locked, new_time, one_by_one
from tasksapp.models import BizType, Job, Series, Status
from tasksapp.models.conflicts import repeated
from tasksapp.models.new_job import sealed_content
from tasksapp.models.sealable import CARRIED
from tasksapp.sql.answers import end_links
from tasksapp.sql.keep_last import is_waiting, waiting_key
from tasksapp.sql.ordered_keys import give_places

#: Fields that say when the job is due, and those that are checked with its biz type.
_TIME, _OF_BIZ_TYPE = ("due_at", "delay"), ("request", "raw", "content_type")
#: Columns that say what a job asks.
ASKED = {*CARRIED, "biz_id"}
#: Fields that are changed without a change of its time.
FREE = frozenset(fields_on(Face.CHANGE)) - {*_TIME}


@repeated
def edit(
    job_id: UUID,
    *,
    version: int | None = None,
    by: Actor | None = None,
    reason: str = "",
    using: str | None = None,
    **fields: Unpack[JobChange],
) -> Job:
    """The pending job with other values in the fields that are given.

    Args:
        job_id: which job.
        version: the version that the caller saw; None for any.
        by: who does it, for the audit; None for the project's own code, which leaves no entry there.
        reason: why, for the audit.
        using: the database.
        fields: those of a new job but its keys; None where a new job has none. A ``body`` may be a WrittenJson, whose
            text is kept. A header of the job's own ``request`` that comes back masked stays as it is. Exact bytes
            (``raw``) take the place of a ``body``, and a body theirs.

    Raises InvalidJob, JobNotFound, WrongState (the job is not pending), VersionConflict, KeyResolved or OneIsLive
    where the job may not have that biz id, and QuotaUsedUp.
    """
    using = using or router.db_for_write(Job)
    now = timezone.now()
    if unknown := fields.keys() - FREE - {*_TIME}:
        raise TypeError(f"edit() has no field {min(unknown)!r}")
    given: dict[str, Any] = {**fields}
    values: Values = {name: RULES[name](given[name]) for name in given if name in FREE and name not in _OF_BIZ_TYPE}
    if any(name in given for name in _TIME):
        values |= _moved(due_at=given.get("due_at"), delay=given.get("delay"), now=now)
    seen = VERSION(version)
    with transaction.atomic(using=using):
        job = locked(job_id, verb=Deed.EDIT, source=Status.PENDING, version=seen, using=using)
        if "request" in given:
            own = edited_request(RULES["request"], given["request"], stored=job.request, biz_type=job.biz_type)
            values["request"] = own
        values |= edited_bytes(job, values, **{name: given[name] for name in ("raw", "content_type") if name in given})
        former_key, values = job.flow_key, _changes(job, values)
        if values:
            _refuse_longer(job, values, using=using)
            values |= {"changed_by": (by or OWN_CODE).name, "version": job.version + 1, "updated_at": now}
            if "biz_id" in values:
                _check_key(job, values, using=using)
            if "flow_key" in values and job.biz_type.is_ordered:
                key = values["flow_key"]
                values["place"] = give_places([(job.biz_type_id, key)], using=using)[0][0] if key else None
            if values.get("priority") not in {None, job.priority} and job.biz_type.is_ordered and job.place is not None:
                raise RULES["priority"].refusal("conflict", ORDERED_PRIORITY)
            if job.biz_type.on_resolved and any(_stored(job, name) != values[name] for name in ASKED & values.keys()):
                end_links([job.id], using=using)
            values |= _at_rest(job, values, using=using)
            live_key, biz_id = values.get("live_key", job.live_key), values.get("biz_id", job.biz_id)
            with one_by_one(job, key=live_key, biz_id=biz_id, using=using):
                change(job, values, verb=Deed.EDIT, by=by, reason=reason, using=using)
            follow_on_commit(
                [job], verb=Deed.EDIT, by=by, using=using, former_key=former_key, look_again="biz_id" in values
            )
    return job


def _refuse_longer(job: Job, values: Values, *, using: str) -> None:
    """Raises QuotaUsedUp where the job would carry more than it does, and its tenant may not."""
    if not values.keys() & {"body", "raw"}:
        return
    body, raw = values.get("body", job.body), values.get("raw", job.raw)
    if len(str(body).encode()) + len(raw or b"") > len(str(job.body).encode()) + len(job.raw or b""):
        own = job.biz_type
        # Read with the count of its tenant.
        for biz_type in biz_type_cache.find({own.code}, tenant_id=own.tenant.pk, using=using).values():
            refuse_more_bytes(biz_type.tenant)


def _at_rest(job: Job, values: Values, *, using: str) -> Values:
    """What it carries, as it is to be stored; nothing where it is not encrypted, or carries what it did.

    A job that was made before its biz type was encrypted becomes so, with all that was said about it.
    """
    added: Values = {}
    if job.is_sealed and not values.keys() & {*CARRIED}:
        return added
    if not job.is_sealed:
        if not job.biz_type.encrypted:
            return added
        added = said_at_rest(job, using=using)
    carried = {name: values[name] if name in values else getattr(job, name) for name in CARRIED}
    return added | sealed_content(job.seal_place, **carried)


def _check_key(job: Job, values: Values, *, using: str) -> None:
    """Adds what follows from a new biz id. Raises KeyResolved where it is resolved."""
    key = values["biz_id"]
    if key == job.biz_id:
        return
    refuse_resolved_key(job, key, using=using)
    if job.biz_type.one_live != BizType.OneLive.ANY:
        has_begun = job.live_key is not None and not is_waiting(job.live_key)
        waits = job.biz_type.one_live == BizType.OneLive.LAST and not has_begun
        values["live_key"] = waiting_key(key) if key and waits else key or None


def _moved(*, due_at: Any, delay: Any, now: datetime) -> Values:
    due = new_time(Verb.RESCHEDULE, due_at=due_at, delay=delay, now=now)
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


def edited_bytes(row: Job | Series, values: Mapping[str, Any], **given: Any) -> dict[str, Any]:
    """The columns of the body that change beside ``values``; none where there are exact bytes neither before nor after.

    A mask that stands where a masked field is to be is refused here, too.

    Args:
        row: as it is stored.
        values: the columns that are to change; with its ``body`` JSON takes the place of exact bytes.
        given: ``raw``, the exact bytes, and their ``content_type``, as far as they are given.

    Raises InvalidJob.
    """
    refuse_masks(row.biz_type, body=values.get("body", "null"), raw=given.get("raw"))
    if row.raw is None and not given:
        return {}
    if "body" in values and "raw" in given:
        raise InvalidJob("body", "conflict", "give a JSON body or exact bytes, not both")
    kind = RULES["content_type"](given.get("content_type"))
    has: bytes | None = None if row.raw is None else bytes(row.raw)
    if "body" in values:
        has = None
    elif "raw" in given:
        has = RULES["raw"](given["raw"])
        if has is None:
            raise InvalidJob("raw", "required", "raw may not be None: give a body")
    if has is not None and not given:
        kind = content_type_of(row.request)
    text = with_content_type(values.get("request", row.request), raw=has, content_type=kind, biz_type=row.biz_type)
    return {"raw": has, "request": text, **({} if has is None else {"body": "null"})}
