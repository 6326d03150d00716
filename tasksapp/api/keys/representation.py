"""How an API key looks from outside. The key itself is in one answer only: the one that makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from tasksapp.api.http.timestamp import timestamp
from tasksapp.models import ApiKey, BizType
from tasksapp.models.api_key import Scope


def codes_of(keys: Sequence[ApiKey]) -> dict[int, str]:
    """The codes of all biz types that these keys are limited to, by id."""
    ids = {number for key in keys for number in key.biz_type_ids}
    return dict(BizType.objects.filter(id__in=ids).values_list("id", "code")) if ids else {}


def key_json(key: ApiKey, *, codes: Mapping[int, str]) -> dict[str, Any]:
    """A key, as :class:`ApiKeySerializer` describes it.

    Args:
        key: the row.
        codes: those of biz types, by id; the key's biz types that are not among them were deleted.
    """
    overlaps = bool(key.previous_prefix) and key.previous_until is not None and key.previous_until > timezone.now()
    return {
        "id": key.pk,
        "name": key.name,
        "owner": key.owner,
        "prefix": key.prefix,
        "scopes": list(key.scopes),
        "biz_types": sorted(codes[id_] for id_ in key.biz_type_ids if id_ in codes) if key.biz_type_ids else None,
        "expires_at": timestamp(key.expires_at),
        "enabled": key.enabled,
        "previous_prefix": key.previous_prefix if overlaps else None,
        "previous_until": timestamp(key.previous_until) if overlaps else None,
        "created_at": timestamp(key.created_at),
        "last_used_at": timestamp(key.last_used_at),
        "last_used_from": key.last_used_from,
        "version": key.version,
    }


def _example() -> dict[str, Any]:
    at = datetime(2027, 1, 31, 8, 30, tzinfo=UTC)
    row = ApiKey(
        id=3, name="checkout", owner="Team Shop", prefix="dh_V1StGXR8", scopes=["jobs:read", "jobs:write"],
        biz_type_ids=[1], expires_at=datetime(2028, 1, 31, tzinfo=UTC), created_at=at, last_used_at=at,
        last_used_from="192.0.2.7",
    )  # fmt: skip
    return key_json(row, codes={1: "order.close"})


class ApiKeySerializer(serializers.Serializer[Any]):
    """An API key: who has it, and what it may do."""

    example = _example()

    id = serializers.IntegerField()
    name = serializers.CharField()
    owner = serializers.CharField(allow_blank=True, help_text="Who answers for its use.")
    prefix = serializers.CharField(help_text="How the key begins.")
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices), help_text="What it may do.")
    biz_types = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="Only these. Null: all of its tenant."
    )
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Null: never.")
    enabled = serializers.BooleanField()
    previous_prefix = serializers.CharField(allow_null=True, help_text="Of the replaced key, while it is valid.")
    previous_until = serializers.DateTimeField(allow_null=True, help_text="Until when the replaced key is valid.")
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute.")
    last_used_from = serializers.CharField(allow_null=True, help_text="The address of the last use.")
    version = serializers.IntegerField(help_text="Grows with each change.")


class NewApiKeySerializer(ApiKeySerializer):
    """An API key, with the key itself."""

    example = {**ApiKeySerializer.example, "key": "dh_V1StGXR8Z5jdHi6BmyTVbQ2kNqPw3xLcRfEoUaYs0gM"}

    key = serializers.CharField(help_text="The key. It is not stored, and no other answer has it.")
