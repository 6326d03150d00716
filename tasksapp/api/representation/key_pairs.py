"""How the key pairs of a biz type look from outside: by their public halves only."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rest_framework import serializers

from tasksapp.api.representation.timestamp import timestamp
from tasksapp.biz_types import verbs
from tasksapp.models import BizType


def key_pairs_json(biz_type: BizType, *, now: datetime) -> dict[str, Any]:
    """The public keys, as :class:`KeyPairsSerializer` describes them."""
    keys = verbs.public_keys(biz_type, now=now)
    ends = biz_type.previous_key_until if len(keys) > 1 else None
    return {"public_keys": keys, "previous_key_until": timestamp(ends)}


class KeyPairsSerializer(serializers.Serializer[Any]):
    """The keys by which callbacks are signed."""

    example: dict[str, Any] = {
        "public_keys": ["whpk_mXZ0Nq3k0X9tWmJ3c2pX2m0n3s1c8kq0m4dY6mZt1dI="],
        "previous_key_until": None,
    }

    public_keys = serializers.ListField(child=serializers.CharField(), help_text="The newest first.")
    previous_key_until = serializers.DateTimeField(
        allow_null=True, help_text="Until then the key before signs beside it. Null: there is one key, or none."
    )
