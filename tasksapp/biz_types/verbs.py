"""Verbs: what a person may do to a biz type that is there. Each stores the change at once, and who made it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from django.db import router, transaction
from django.utils import timezone

from delayhub.webhooks.signature import key_of, new_secret
from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.access.quotas import Quota, take_one
from tasksapp.biz_types.follow_ups import FOLLOW_UPS
from tasksapp.models import UNTIL_RESUMED, BizType, Series
from tasksapp.models.conflicts import repeated
from tasksapp.models.encrypted_text import opens, seal
from tasksapp.sql.first_jobs import has_jobs

#: How long the previous signing secret signs beside a new one, so that receivers can change over.
ROTATION = timedelta(days=1)


#: Columns that an entry about a new or deleted biz type leaves out.
_OWN = frozenset({"id", "created_at", "updated_at", "queue_name", "revision"})


class Signing(Enum):
    """What callbacks are signed by: its columns, those of the one before it, until when that signs too, its deeds."""

    SECRET = (
        ("signing_secret_sealed",),
        ("previous_signing_secret_sealed",),
        "previous_secret_until",
        Deed.NEW_SIGNING_SECRET,
        Deed.END_SIGNING_SECRET,
    )
    KEY_PAIR = (
        ("signing_key_sealed", "public_key"),
        ("previous_signing_key_sealed", "previous_public_key"),
        "previous_key_until",
        Deed.NEW_SIGNING_KEY,
        Deed.END_SIGNING_KEY,
    )

    def __init__(
        self, columns: tuple[str, ...], previous: tuple[str, ...], until: str, renewed: Deed, ended: Deed
    ) -> None:
        self.columns, self.previous, self.until = columns, previous, until
        self.renewed, self.ended = renewed, ended


@repeated
def add(biz_type: BizType, *, by: Actor | None = None, within_quota: bool = True) -> None:
    """Stores a new biz type. Raises QuotaUsedUp, unless it may be beyond the tenant's quota."""
    with transaction.atomic(using=_using(biz_type)):
        if within_quota:
            take_one(Quota.BIZ_TYPES, tenant_id=biz_type.tenant_id, using=_using(biz_type))
        biz_type.save()
        after = {field.attname: getattr(biz_type, field.attname) for field in BizType._meta.concrete_fields}
        unset = {field.attname: field.get_default() for field in BizType._meta.concrete_fields}
        given = {name: value for name, value in after.items() if name not in _OWN and value != unset[name]}
        _record(Deed.ADD_BIZ_TYPE, biz_type, by=by, after=given)


def edit(biz_type: BizType, changed: Collection[str], *, by: Actor | None = None, reason: str = "") -> None:
    """Stores those attributes of the biz type and no others, so that what somebody else changed stays.

    Args:
        biz_type: with its new values.
        changed: the names of what was changed; ``auth_secret`` may be among them, names of no columns have no effect.
        by: who does it, for the audit; None for the project's own code, which leaves no entry there.
        reason: why, for the audit.

    Raises DatabaseError where the biz type was deleted meanwhile, IntegrityError where its tenant has another one of
    the new code, ValueError where the tenant would change.
    """
    if "tenant" in changed:
        raise ValueError("a biz type stays with its tenant: make another one")
    columns = {field.name for field in BizType._meta.concrete_fields}
    if "code" in changed:
        _rename_follow_ups(biz_type)
    fields = {"auth_secret_sealed" if name == "auth_secret" else name for name in changed} & columns
    if fields:
        _change(Deed.EDIT_BIZ_TYPE, biz_type, sorted(fields), by=by, reason=reason)


def pause(biz_type: BizType, *, until: datetime = UNTIL_RESUMED, by: Actor | None = None, reason: str = "") -> None:
    """Holds the jobs of the biz type until then, or until somebody resumes it; new jobs are still taken, and wait.

    A time that has passed resumes it. Raises DatabaseError where the biz type was deleted meanwhile.
    """
    if until <= timezone.now():
        resume(biz_type, by=by, reason=reason)
        return
    biz_type.paused_until = until
    biz_type.paused_by, biz_type.pause_reason = (by.name if by else ""), reason[: audit.REASON_LENGTH]
    _change(Deed.PAUSE, biz_type, ["paused_until", "paused_by", "pause_reason"], by=by, reason=reason)


def resume(biz_type: BizType, *, by: Actor | None = None, reason: str = "") -> bool:
    """Lets the jobs of a paused biz type run again, slowly at first; False where it was not paused.

    Raises DatabaseError where the biz type was deleted meanwhile.
    """
    ends = biz_type.paused_until
    if ends is None:
        return False
    # After a pause that ended by itself, the rate has been rising since then.
    biz_type.paused_until, biz_type.resumed_at = None, min(timezone.now(), ends)
    biz_type.paused_by = biz_type.pause_reason = ""
    fields = ["paused_until", "resumed_at", "paused_by", "pause_reason"]
    _change(Deed.RESUME, biz_type, fields, by=by, reason=reason)
    return True


def rotate_signing_secret(
    biz_type: BizType, secret: str, *, overlap: timedelta = ROTATION, by: Actor | None = None
) -> None:
    """Signs callbacks with a new secret; the one before, if there is one, signs beside it for a while.

    Args:
        biz_type: the biz type.
        secret: the new secret, such as ``whsec_`` and base64.
        overlap: for how long the one before goes on signing; with none it ends at once.
        by: who does it, for the audit.

    Raises BadSecret where callbacks cannot be signed with it, DatabaseError where the biz type was deleted meanwhile.
    """
    key_of(secret)
    _renew(Signing.SECRET, biz_type, [seal(secret)], overlap=overlap, by=by)


def make_signing_secret(biz_type: BizType, *, overlap: timedelta = ROTATION, by: Actor | None = None) -> str:
    """A new signing secret, which callbacks are signed with from now on, as after ``rotate_signing_secret``.

    Raises DatabaseError where the biz type was deleted meanwhile.
    """
    secret = new_secret()
    rotate_signing_secret(biz_type, secret, overlap=overlap, by=by)
    return secret


def make_key_pair(biz_type: BizType, *, overlap: timedelta = ROTATION, by: Actor | None = None) -> str:
    """The public key of a new pair, by which callbacks are signed (``v1a``) beside the signing secret.

    Args:
        biz_type: the biz type.
        overlap: for how long the pair before, if there is one, goes on signing; with none it ends at once.
        by: who does it, for the audit.

    Raises DatabaseError where the biz type was deleted meanwhile.
    """
    from delayhub.webhooks.public_key import new_private_key, public_key_of  # noqa: PLC0415  it loads cryptography

    private_key = new_private_key()
    public_key = public_key_of(private_key)
    _renew(Signing.KEY_PAIR, biz_type, [seal(private_key), public_key], overlap=overlap, by=by)
    return public_key


def end_previous(biz_type: BizType, signing: Signing, *, by: Actor | None = None) -> bool:
    """Signs callbacks by the present secret or key pair only; False where none was signing beside it.

    Raises DatabaseError where the biz type was deleted meanwhile.
    """
    if not getattr(biz_type, signing.previous[0]):
        return False
    ends = getattr(biz_type, signing.until)
    _change(signing.ended, biz_type, _forget(signing, biz_type, signing.previous), by=by)
    return ends is not None and ends > timezone.now()


def stop_signing(biz_type: BizType, signing: Signing, *, by: Actor | None = None, reason: str = "") -> bool:
    """Signs no callback by a secret, or by a key, any more; False where none was signed so.

    Raises DatabaseError where the biz type was deleted meanwhile.
    """
    columns = (*signing.columns, *signing.previous)
    if not any(getattr(biz_type, name) for name in columns):
        return False
    _change(signing.ended, biz_type, _forget(signing, biz_type, columns), by=by, reason=reason)
    return True


def public_keys(biz_type: BizType, *, now: datetime) -> list[str]:
    """The public keys by which its callbacks can be checked, the newest first."""
    goes_on = biz_type.previous_key_until is not None and biz_type.previous_key_until > now
    return [key for key in (biz_type.public_key, biz_type.previous_public_key if goes_on else "") if key]


def may_delete(biz_type: BizType) -> bool:
    """Whether it has no jobs and no series, which keep it."""
    using = _using(biz_type)
    return not (has_jobs(biz_type.pk, using=using) or Series.objects.using(using).filter(biz_type=biz_type.pk).exists())


@repeated
def delete(biz_type: BizType, *, by: Actor | None = None) -> None:
    """Deletes a biz type. Raises ProtectedError where it has jobs or series."""
    with transaction.atomic(using=_using(biz_type)):
        _record(Deed.DELETE_BIZ_TYPE, biz_type, by=by)
        biz_type.delete()


def _renew(signing: Signing, biz_type: BizType, values: Sequence[str], *, overlap: timedelta, by: Actor | None) -> None:
    fields = list(signing.columns)
    if getattr(biz_type, fields[0]):
        before = [getattr(biz_type, name) for name in signing.columns]
        fields += _forget(signing, biz_type, signing.previous)
        # What no key opens signs nothing, and would hold up all that is signed.
        if overlap > timedelta() and opens(before[0]):
            _set(biz_type, signing.previous, before)
            setattr(biz_type, signing.until, timezone.now() + overlap)
    _set(biz_type, signing.columns, values)
    _change(signing.renewed, biz_type, fields, by=by)


def _forget(signing: Signing, biz_type: BizType, columns: Sequence[str]) -> list[str]:
    """Empties the columns, and ends what signs beside the present one; the names of what may have changed."""
    _set(biz_type, columns, [""] * len(columns))
    setattr(biz_type, signing.until, None)
    return [*columns, signing.until]


def _set(biz_type: BizType, columns: Sequence[str], values: Sequence[str]) -> None:
    for name, value in zip(columns, values, strict=True):
        setattr(biz_type, name, value)


def _rename_follow_ups(biz_type: BizType) -> None:
    """Lets the biz types that this one follows name it by its new code."""
    rows = BizType.objects.using(_using(biz_type))
    code = rows.filter(pk=biz_type.pk).values_list("code", flat=True).first()
    if code is None or code == biz_type.code:
        return
    for name in FOLLOW_UPS:
        rows.filter(tenant=biz_type.tenant_id, **{name: code}).update(**{name: biz_type.code})


@repeated
def _change(deed: Deed, biz_type: BizType, fields: Sequence[str], *, by: Actor | None, reason: str = "") -> None:
    with transaction.atomic(using=_using(biz_type)):
        before: dict[str, Any] = {}
        if audit.is_recorded(by):
            before = BizType.objects.using(_using(biz_type)).filter(pk=biz_type.pk).values(*fields).first() or {}
        biz_type.save(update_fields=[*fields, "updated_at"])
        after = {name: getattr(biz_type, name) for name in fields}
        _record(deed, biz_type, by=by, before=before, after=after, reason=reason)


def _record(deed: Deed, biz_type: BizType, *, by: Actor | None, **details: Any) -> None:
    audit.record_deed(deed, by=by, using=_using(biz_type), biz_type_id=biz_type.pk, what=biz_type, **details)


def _using(biz_type: BizType) -> str:
    return biz_type._state.db or router.db_for_write(BizType)
