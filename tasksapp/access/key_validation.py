"""What an API key may be like."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.models import ApiKey, BizType
from tasksapp.models.api_key import Scope
from tasksapp.models.tenant import DEFAULT_TENANT

#: A key is limited to so many biz types at most: each of its requests reads the list.
MOST_BIZ_TYPES = 1_000


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
