"""How a biz type looks from outside."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from tasksapp.api.representation.timestamp import timestamp
from tasksapp.models import BizType


def biz_type_json(biz_type: BizType) -> dict[str, Any]:
    """A biz type, as :class:`BizTypeSerializer` describes it. Secrets stay inside."""
    return {
        "code": biz_type.code,
        "name": biz_type.name,
        "description": biz_type.description,
        "enabled": biz_type.enabled,
        "paused_until": timestamp(biz_type.paused_until),
        "target": str(biz_type.target),
        "signed": bool(biz_type.signing_secret_sealed),
        "max_attempts": biz_type.max_attempts,
        "timeout_seconds": biz_type.timeout_seconds,
        "guarantee": str(biz_type.guarantee),
        "lane": biz_type.lane,
    }


class BizTypeSerializer(serializers.Serializer[Any]):
    """A kind of job."""

    example = biz_type_json(BizType(code="order.close", name="Close unpaid orders"))

    code = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    description = serializers.CharField(allow_blank=True)
    enabled = serializers.BooleanField()
    paused_until = serializers.DateTimeField(allow_null=True)
    target = serializers.ChoiceField(choices=BizType.Target.choices)
    signed = serializers.BooleanField(help_text="Whether there is a secret that its callbacks are signed with.")
    max_attempts = serializers.IntegerField()
    timeout_seconds = serializers.FloatField()
    guarantee = serializers.ChoiceField(choices=BizType.Guarantee.choices)
    lane = serializers.CharField()
