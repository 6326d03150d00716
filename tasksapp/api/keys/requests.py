"""What callers may send about API keys, and what they may give to others: no more than they have themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import router, transaction
from django.db.models import QuerySet
from rest_framework import serializers

from tasksapp.access.key_verbs import LONGEST_OVERLAP, MOST_BIZ_TYPES, complaints
from tasksapp.api.http.authentication import unauthorized
from tasksapp.api.http.checked_request import CheckedRequest
from tasksapp.api.http.problems import Refused, refused
from tasksapp.api.http.scopes import scope_missing
from tasksapp.api.jobs.requests import VersionRequestSerializer
from tasksapp.biz_types.visible import visible_biz_types
from tasksapp.models import ApiKey
from tasksapp.models.api_key import Scope

#: Columns that callers know by another name.
COLUMNS = {"biz_types": "biz_type_ids"}


class ChangeApiKeyRequestSerializer(CheckedRequest, VersionRequestSerializer):
    """What is to change of a key."""

    example = {"scopes": ["jobs:read"], "version": 1}

    name = serializers.CharField(required=False, max_length=200)
    owner = serializers.CharField(required=False, allow_blank=True, max_length=200)
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices), required=False, min_length=1)
    biz_types = serializers.ListField(
        child=serializers.CharField(max_length=100), required=False, allow_null=True, min_length=1,
        max_length=MOST_BIZ_TYPES, help_text="Only these. Null: all of your tenant.",
    )  # fmt: skip
    expires_at = serializers.DateTimeField(required=False, allow_null=True, help_text="Null: never.")
    enabled = serializers.BooleanField(required=False)


class ApiKeyRequestSerializer(ChangeApiKeyRequestSerializer):
    """A key to issue."""

    example = {"name": "checkout", "scopes": ["jobs:read", "jobs:write"], "biz_types": ["order.close"]}

    name = serializers.CharField(max_length=200)
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices), min_length=1)
    version = None  # type: ignore[assignment]  # a new key has none yet; REST framework then leaves the field out


class RotateApiKeyRequestSerializer(CheckedRequest, VersionRequestSerializer):
    """How long the key so far stays valid beside the new one."""

    example = {"overlap_seconds": 3600}

    overlap_seconds = serializers.FloatField(
        required=False, min_value=0, max_value=LONGEST_OVERLAP.total_seconds(), help_text="A day where it is not given."
    )


def visible_keys(caller: Any) -> QuerySet[ApiKey]:
    """The keys of the caller's tenant; where the caller is limited to biz types, those within the same limits."""
    rows = ApiKey.objects.filter(tenant_id=caller.tenant_id)
    if caller.biz_type_ids is None:
        return rows
    # There are few keys, and no way to ask both databases for this.
    limited = rows.exclude(biz_type_ids=[]).values_list("id", "biz_type_ids")
    return rows.filter(id__in=[id_ for id_, ids in limited if caller.biz_type_ids.issuperset(ids)])


def fill(row: ApiKey, fields: dict[str, Any], *, caller: Any) -> set[str]:
    """Puts the fields of a request into the row; the columns that they are. Raises Refused and InvalidJob."""
    for name, given in fields.items():
        match name:
            case "biz_types":
                row.biz_type_ids = _ids(given, caller=caller)
            case "scopes":
                row.scopes = list(dict.fromkeys(given))
            case _:
                setattr(row, name, given)
    columns = {COLUMNS.get(name, name) for name in fields}
    for column, complaint in complaints(row, among=columns).items():
        (name,) = (name for name in fields if COLUMNS.get(name, name) == column)
        raise refused(name, "invalid", complaint)
    return columns


def check_grant(row: ApiKey, *, caller: Any) -> None:
    """Refuses a key that may do more, see more or live longer than the caller, who would have that in hand then.

    Raises Refused: 403 which names a scope that the caller does not have, 400 for biz types and the end.
    """
    for scope in row.scopes:
        if scope not in caller.scopes:
            raise Refused(scope_missing(Scope(scope)))
    if caller.biz_type_ids is not None and not (row.biz_type_ids and caller.biz_type_ids.issuperset(row.biz_type_ids)):
        raise refused("biz_types", "invalid", "Your key is limited to biz types: name those that this key may see.")
    ends = _end_of(caller.key_id) if caller.key_id else None
    if ends is not None and (row.expires_at is None or row.expires_at > ends):
        message = f"Your key expires at {ends.isoformat()}, and this one may not expire later."
        raise refused("expires_at", "invalid", message)


@contextmanager
def unchanged(caller: Any) -> Iterator[None]:
    """A transaction in which the caller's own key stays as the request found it: a revoked one gives nothing more.

    Raises Refused (401) where the key was changed, disabled or deleted since the request began.
    """
    with transaction.atomic(using=router.db_for_write(ApiKey)):
        key_id = getattr(caller, "key_id", None)  # people, and callers of a project's own, have none
        if key_id:
            own = ApiKey.objects.using(router.db_for_write(ApiKey)).select_for_update()
            if own.filter(pk=key_id, version=caller.version, enabled=True).first() is None:
                raise unauthorized("Your API key was changed or revoked while the request was under way.")
        yield


def name_taken(name: str) -> Refused:
    """The refusal where another request has just taken the name."""
    return refused("name", "invalid", f"There is a key named {name!r} already.")


def _end_of(key_id: int) -> Any:
    return ApiKey.objects.filter(pk=key_id).values_list("expires_at", flat=True).first()


def _ids(given: Any, *, caller: Any) -> list[int]:
    if given is None:
        return []
    found = dict(visible_biz_types(caller).filter(code__in=_encodable(given)).values_list("code", "id"))
    for code in given:
        if code not in found:
            raise refused("biz_types", "unknown", f"there is no biz type {code!r:.120}")
    return sorted(set(found.values()))


def _encodable(codes: Collection[str]) -> list[str]:
    """Those that a database takes: JSON may have half a pair of surrogates."""
    return [code for code in codes if code.isprintable()]
