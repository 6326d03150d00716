"""Verbs: what a person or a caller may do to an API key that is there. Each is recorded in the audit.

A key is looked up at each request, so each of these holds from the next request on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.db import router, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.access.keys import new_key, record_key, set_key
from tasksapp.errors import StaleKey
from tasksapp.models import ApiKey, BizType
from tasksapp.models.api_key import Scope
from tasksapp.models.tenant import DEFAULT_TENANT

#: How long a replaced key is valid beside the new one where nothing else is said, and at most.
OVERLAP, LONGEST_OVERLAP = timedelta(days=1), timedelta(days=90)

#: What can be changed of a key that is there. Its tenant never changes.
CHANGEABLE = frozenset({"name", "owner", "scopes", "biz_type_ids", "expires_at", "enabled"})
_PREVIOUS = ("previous_prefix", "previous_hashed_key", "previous_until")
#: A key is limited to so many biz types at most: each of its requests reads the list.
MOST_BIZ_TYPES = 1_000


def edit(row: ApiKey, changed: Collection[str], *, by: Actor | None = None) -> None:
    """Stores those columns of the key and no others.

    Args:
        row: with its new values, and the version that it had when they were chosen.
        changed: the names of what was changed; others than those of ``CHANGEABLE`` have no effect.
        by: who does it, for the audit; None for the project's own code.

    Raises StaleKey where the key was changed or deleted meanwhile.
    """
    columns = sorted(CHANGEABLE.intersection(changed))
    if not columns:
        return
    with transaction.atomic(using=_using(row)):
        before = _locked(row)
        _store(row, columns)
        old, new = ({name: getattr(of, name) for name in columns} for of in (before, row))
        if old.get("enabled") != new.get("enabled"):
            record_key(Deed.ENABLE_KEY if row.enabled else Deed.DISABLE_KEY, row, by=by)
        rest = audit.changes(_without_enabled(old), _without_enabled(new))
        if any(rest):
            record_key(Deed.EDIT_KEY, row, by=by, before=_without_enabled(old), after=_without_enabled(new))


def rotate(row: ApiKey, *, overlap: timedelta = OVERLAP, by: Actor | None = None) -> str:
    """The new key, which is valid from now on and is stored nowhere; the one before stays valid for a while.

    Args:
        row: the key, with the version that it had when it was read.
        overlap: for how long the key so far stays valid, so that callers can change over; with none it ends at once.
            One that was replaced earlier, and is still valid, ends in any case.
        by: who does it, for the audit.

    Raises StaleKey where the key was changed or deleted meanwhile.
    """
    with transaction.atomic(using=_using(row)):
        _locked(row)
        old = row.prefix
        if overlap > timedelta():
            row.previous_prefix, row.previous_hashed_key = row.prefix, row.hashed_key
            row.previous_until = timezone.now() + overlap
        else:
            _forget_previous(row)
        key = new_key()
        set_key(row, key)
        _store(row, ["prefix", "hashed_key", *_PREVIOUS])
        record_key(
            Deed.ROTATE_KEY, row, by=by,
            before={"prefix": old}, after={"prefix": row.prefix, "previous_until": row.previous_until},
        )  # fmt: skip
    return key


def end_previous(row: ApiKey, *, by: Actor | None = None) -> bool:
    """Ends the key that was replaced; False where none was valid beside the present one.

    Raises StaleKey where the key was changed or deleted meanwhile.
    """
    if not row.previous_prefix:
        return False
    with transaction.atomic(using=_using(row)):
        _locked(row)
        ends = row.previous_until
        _forget_previous(row)
        _store(row, list(_PREVIOUS))
        record_key(Deed.END_PREVIOUS_KEY, row, by=by)
    return ends is not None and ends > timezone.now()


def delete(row: ApiKey, *, by: Actor | None = None) -> None:
    """Deletes the key, with one that is still valid beside it. Jobs and the audit go on naming it."""
    with transaction.atomic(using=_using(row)):
        # A caller may be creating an operation with it, which this then waits for, and finds (operations/verbs.py).
        ApiKey.objects.using(_using(row)).select_for_update().filter(pk=row.pk).first()
        record_key(Deed.DELETE_KEY, row, by=by)
        row.delete()


def _locked(row: ApiKey) -> ApiKey:
    """The row as it is stored, which stays so until the transaction ends. Raises StaleKey."""
    stored = ApiKey.objects.using(_using(row)).select_for_update().filter(pk=row.pk).first()
    if stored is None or stored.version != row.version:
        raise StaleKey(row.name, asked=row.version, version=None if stored is None else stored.version)
    return stored


def _store(row: ApiKey, columns: list[str]) -> None:
    row.version += 1
    row.save(using=_using(row), update_fields=[*columns, "version"])


def _forget_previous(row: ApiKey) -> None:
    row.previous_prefix, row.previous_hashed_key, row.previous_until = "", "", None


def _without_enabled(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in columns.items() if name != "enabled"}


def _using(row: ApiKey) -> str:
    return row._state.db or router.db_for_write(ApiKey)


def complaints(row: ApiKey, *, among: Collection[str]) -> dict[str, str]:
    """What is wrong with those columns of a key, by column; a sentence for people.

    Args:
        row: the key, which may be new.
        among: the columns that were filled in or changed.
    """
    checks = {
        "name": _name, "owner": _owner, "scopes": _scopes, "biz_type_ids": _biz_types, "expires_at": _expiry,
    }  # fmt: skip
    found = {name: check(row) for name, check in checks.items() if name in among}
    return {name: complaint for name, complaint in found.items() if complaint}


def biz_types_of(row: ApiKey) -> Iterable[BizType]:
    """The biz types that the key is limited to, by code, without those that were deleted."""
    return BizType.objects.filter(id__in=row.biz_type_ids, tenant_id=row.tenant_id or DEFAULT_TENANT).order_by("code")


def _name(row: ApiKey) -> str:
    if complaint := _text(row.name, longest=200):
        return complaint
    if not row.name.strip():
        return _("A key needs a name.")
    others = ApiKey.objects.filter(tenant_id=row.tenant_id or DEFAULT_TENANT, name=row.name).exclude(pk=row.pk)
    return _("There is a key of that name already.") if others.exists() else ""


def _owner(row: ApiKey) -> str:
    return _text(row.owner, longest=200)


def _text(value: Any, *, longest: int) -> str:
    if not isinstance(value, str):
        return _("It must be a text.")
    if len(value) > longest:
        return _("It may have %(longest)d characters.") % {"longest": longest}
    # No database keeps NUL, nor half a pair of surrogates; a line break would break the log's lines.
    return "" if value.isprintable() else _("It may not have control characters.")


def _scopes(row: ApiKey) -> str:
    if not isinstance(row.scopes, list) or not row.scopes:
        return _("A key needs at least one scope.")
    unknown = [scope for scope in row.scopes if scope not in Scope.values]
    return _("There is no scope %(scope).50r.") % {"scope": unknown[0]} if unknown else ""


def _biz_types(row: ApiKey) -> str:
    ids = row.biz_type_ids
    if len(ids) > MOST_BIZ_TYPES:
        return _("A key may be limited to %(most)d biz types, or to none.") % {"most": MOST_BIZ_TYPES}
    there = BizType.objects.filter(id__in=ids, tenant_id=row.tenant_id or DEFAULT_TENANT).count()
    return "" if there == len(set(ids)) else _("One of these biz types does not exist, or belongs to another tenant.")


def _expiry(row: ApiKey) -> str:
    is_past = row._state.adding and row.expires_at is not None and row.expires_at <= timezone.now()
    return _("A new key cannot expire in the past.") if is_past else ""
