"""The audit: who did what to a job, a biz type, a key or an operation, written beside what was done.

An entry is written in the transaction of the deed, so that there is neither a deed without an entry nor an entry
without a deed. The project's own code, which says nothing about who it acts for, leaves none.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from django.db.models import TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from delayhub.secrecy import Secrecy
from tasksapp.access.actors import NAME_LENGTH, Actor
from tasksapp.access.shown_text import shown_text, text_of
from tasksapp.delivery.own_request import read_own_request, shown_own_request
from tasksapp.models import AuditEntry
from tasksapp.models.columns import secrecy_of_column
from tasksapp.models.sealed_value import is_sealed

#: A reason of a person keeps so many characters.
REASON_LENGTH = 500
#: Of the name of what was changed.
WHAT_LENGTH = 200
#: A body up to so many bytes stands in its entry; of a larger one only the length and the hash.
SMALL_BODY_BYTES = 2_048
#: Columns with what a job or a task carries, of which an entry keeps that mark.
BODIES = frozenset({"body", "raw", "unique_key"})
#: What stands in place of a secret, and of what is encrypted at rest.
CHANGED = "changed"

#: Columns that every deed changes, and that say nothing about it.
SILENT_COLUMNS = frozenset({"version", "updated_at", "changed_by", "lease_until", "operation_id"})


class MaskedBody(NamedTuple):
    """A body with masked fields: an entry keeps its length, and its text with masks."""

    body: str | bytes | memoryview
    shown: str


class Deed(TextChoices):
    """What entries are about, as their ``verb``, and what people call it. Other modules may write further ones."""

    RUN_NOW = "run_now", _("run now")
    RESCHEDULE = "reschedule", _("reschedule")
    EDIT = "edit", _("edit job")
    REDRIVE = "redrive", _("redrive")
    CANCEL = "cancel", _("cancel")
    DROP = "drop", _("drop")
    RESOLVE = "resolve", _("resolve biz id")
    LIFT = "lift", _("lift resolve")
    FOLLOW_UP = "follow_up", _("make follow-up again")
    LINK = "link", _("make answer link")
    WITHDRAW_LINK = "withdraw_link", _("withdraw answer link")

    EXPORT = "export", _("export jobs")

    ADD_BIZ_TYPE = "biz_type.add", _("add biz type")
    EDIT_BIZ_TYPE = "biz_type.edit", _("edit biz type")
    PAUSE = "biz_type.pause", _("pause")
    RESUME = "biz_type.resume", _("resume")
    PAUSE_KEY = "biz_type.pause_key", _("pause a flow key")
    RESUME_KEY = "biz_type.resume_key", _("resume a flow key")
    NEW_SIGNING_SECRET = "biz_type.new_signing_secret", _("new signing secret")
    END_SIGNING_SECRET = "biz_type.end_signing_secret", _("end previous signing secret")
    NEW_SIGNING_KEY = "biz_type.new_signing_key", _("new signing key")
    END_SIGNING_KEY = "biz_type.end_signing_key", _("end signing key")
    TEST = "biz_type.test", _("send test callback")
    DELETE_BIZ_TYPE = "biz_type.delete", _("delete biz type")

    ADD_SERIES = "series.add", _("add series")
    EDIT_SERIES = "series.edit", _("edit series")
    PAUSE_SERIES = "series.pause", _("pause series")
    RESUME_SERIES = "series.resume", _("resume series")
    TRIGGER_SERIES = "series.trigger", _("trigger series")
    DELETE_SERIES = "series.delete", _("delete series")

    ADD_TENANT = "tenant.add", _("add tenant")
    EDIT_TENANT = "tenant.edit", _("edit tenant")
    DELETE_TENANT = "tenant.delete", _("delete tenant")

    ISSUE_KEY = "key.issue", _("issue API key")
    EDIT_KEY = "key.edit", _("change API key")
    ENABLE_KEY = "key.enable", _("enable API key")
    DISABLE_KEY = "key.disable", _("disable API key")
    ROTATE_KEY = "key.rotate", _("rotate API key")
    END_PREVIOUS_KEY = "key.end_previous", _("end replaced API key")
    DELETE_KEY = "key.delete", _("delete API key")

    PLAN = "operation.plan", _("plan operation")
    START = "operation.start", _("start operation")
    STOP = "operation.stop", _("stop operation")
    REPACE = "operation.repace", _("change pace of operation")
    # What an operation's end is recorded as, by the state that it ends in.
    OPERATION_DONE = "operation.done", _("operation is done")
    OPERATION_STOPPED = "operation.stopped", _("operation is stopped")
    OPERATION_FAILED = "operation.failed", _("operation has failed")

    TAKE_ALERT = "alert.take", _("take alert")
    SILENCE = "alert.silence", _("silence alerts")
    END_SILENCE = "alert.end_silence", _("end silence of alerts")

    QUEUE_RUN_NOW = "queue.run_now", _("run Celery messages now")
    QUEUE_RESCHEDULE = "queue.reschedule", _("move Celery messages to a time")
    QUEUE_TRANSFER = "queue.transfer", _("move Celery messages to a queue")
    QUEUE_REDRIVE = "queue.redrive", _("redrive Celery messages")
    QUEUE_REVOKE = "queue.revoke", _("revoke Celery messages")
    QUEUE_FREE_KEY = "queue.free_key", _("free a unique key")


def entry(
    verb: str,
    *,
    by: Actor,
    at: datetime | None = None,
    job_id: UUID | None = None,
    biz_type_id: int | None = None,
    operation_id: int | None = None,
    what: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str = "",
) -> AuditEntry:
    """An entry that is not stored yet; :func:`record` stores it.

    Args:
        verb: what was done: a :class:`Deed`, or a word of the caller's.
        by: who did it.
        at: when; None for now.
        job_id: the job, if it was done to one.
        biz_type_id: the biz type, or that of the job.
        operation_id: the operation.
        what: the name of what was changed, as it was then.
        before: columns with the values that they had. Those that are the same in ``after`` are left out.
        after: columns with the values that they have now.
        reason: why, in the words of the person.
    """
    old, new = changes(before or {}, after or {})
    return AuditEntry(
        at=at or timezone.now(),
        actor=by.name[:NAME_LENGTH],
        address=by.address,
        verb=verb,
        job_id=job_id,
        biz_type_id=biz_type_id,
        operation_id=operation_id,
        what=what[:WHAT_LENGTH],
        before=old,
        after=new,
        # No database keeps NUL in a text.
        reason=reason.replace("\0", "").strip()[:REASON_LENGTH],
    )


def record(entries: Sequence[AuditEntry], *, using: str) -> None:
    """Stores the entries, in one statement of the caller's transaction."""
    if entries:
        AuditEntry.objects.using(using).bulk_create(entries, batch_size=500)


class Labelled(Protocol):
    """What has a name for people, such as a biz type or a series."""

    @property
    def label(self) -> str: ...


def record_deed(deed: str, *, by: Actor | None, using: str, what: str | Labelled, **details: Any) -> None:
    """Stores one entry, in the caller's transaction; none about what the project's own code does.

    Args:
        deed: what was done, as :func:`entry` has it.
        by: who did it.
        using: the database.
        what: the name of what was changed, or what has a label: to read that may ask the database.
        details: what else :func:`entry` takes.
    """
    if by is not None and is_recorded(by):
        what = what if isinstance(what, str) else what.label
        record([entry(deed, by=by, what=what, **details)], using=using)


def is_recorded(by: Actor | None) -> bool:
    """Whether what that actor does is recorded: all but what the project's own code does."""
    return by is not None and bool(by.name)


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What changed, as JSON: the columns whose values differ, with the old and with the new ones; never a secret."""
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    for name in _in_order(before, after):
        had, has = before.get(name), after.get(name)
        if name in SILENT_COLUMNS or had == has:
            continue
        if is_sealed(had) or is_sealed(has):
            new[name] = CHANGED  # also where it was plain before
            continue
        shown = {"before": _as_json(name, had), "after": _as_json(name, has)}
        if secrecy_of_column(name) is Secrecy.SECRET or shown["before"] == shown["after"]:
            new[name] = CHANGED  # it differs in what is not shown
            continue
        if name in before:
            old[name] = shown["before"]
        if name in after:
            new[name] = shown["after"]
    return old, new


def body_mark(body: MaskedBody | str | bytes | memoryview) -> dict[str, Any]:
    """What an entry keeps of a body: its length and its hash, and the text of a small one; of bytes that are none, so
    that no JSON of PostgreSQL could hold them, the same in base64."""
    if isinstance(body, MaskedBody):
        # Without a hash, by which short values could be found.
        shown = {"text": body.shown} if len(body.shown) <= SMALL_BODY_BYTES else {}
        return {"bytes": body_mark(body.body)["bytes"], **shown}
    raw = body.encode() if isinstance(body, str) else bytes(body)
    mark: dict[str, Any] = {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    if len(raw) > SMALL_BODY_BYTES:
        return mark
    text = text_of(raw)
    return {**mark, "base64": b64encode(raw).decode()} if text is None else {**mark, "text": text}


def _own_request(text: str) -> dict[str, Any]:
    shown, content_type = shown_own_request(text) or {}, read_own_request(text).content_type
    return {**shown, "content_type": content_type} if content_type else shown


def _in_order(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterable[str]:
    return dict.fromkeys((*before, *after))


def _as_json(name: str, value: Any) -> Any:
    if name in BODIES and isinstance(value, MaskedBody | str | bytes | memoryview):
        return body_mark(value)
    if name == "request" and isinstance(value, str):
        return json.dumps(_own_request(value), ensure_ascii=False) if value else ""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if value is None or isinstance(value, bool | int | float | dict | list):
        return value
    return shown_text(name, str(value))
