"""How an API key looks from outside. The key itself is in one answer only: the one that makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from delayhub.api_models import keys as answers
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.models import ApiKey, BizType


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
    return json_of(
        answers.ApiKey,
        key,
        scopes=list(key.scopes),
        biz_types=sorted(codes[id_] for id_ in key.biz_type_ids if id_ in codes) if key.biz_type_ids else None,
        previous_prefix=key.previous_prefix if overlaps else None,
        previous_until=key.previous_until if overlaps else None,
    )


def _example() -> dict[str, Any]:
    at = datetime(2027, 1, 31, 8, 30, tzinfo=UTC)
    row = ApiKey(
        id=3, name="checkout", owner="Team Shop", prefix="dh_V1StGXR8", scopes=["jobs:read", "jobs:write"],
        biz_type_ids=[1], expires_at=datetime(2028, 1, 31, tzinfo=UTC), created_at=at, last_used_at=at,
        last_used_from="192.0.2.7",
    )  # fmt: skip
    return key_json(row, codes={1: "order.close"})


_EXAMPLE = _example()
ApiKeySerializer = serializer_of(answers.ApiKey, example=_EXAMPLE)
NewApiKeySerializer = serializer_of(
    answers.NewApiKey, example={**_EXAMPLE, "key": "dh_V1StGXR8Z5jdHi6BmyTVbQ2kNqPw3xLcRfEoUaYs0gM"}
)
OwnKeySerializer = serializer_of(
    answers.OwnKey, example={"name": "checkout", "scopes": ["jobs:read", "jobs:write"], "biz_types": ["order.close"]}
)
