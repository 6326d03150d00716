"""How a biz type looks from outside."""

from __future__ import annotations

import hashlib
from typing import Any

from django.core import validators
from django.db import models
from rest_framework import serializers

from delayhub.api_models import biz_types as answers
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.biz_types.definition import COLUMNS, definition_of
from tasksapp.biz_types.masked_fields import LONGEST_POINTER
from tasksapp.biz_types.validation import FAILURE_CODES, HIGHEST_RATE, LONGEST_AGE, LONGEST_BACKOFF_SECONDS
from tasksapp.models import BizType
from tasksapp.models.columns import marked_columns

#: What may hold keys of receivers, hosts or names of people: only keys that may change biz types see it.
FOR_WRITERS = frozenset({"url_hosts", "owner_mail", *marked_columns(BizType)})
#: What callers are told of a field, where that is not the help text of the model's field.
_HELP = {
    "code": "What callers name it by: a-z, 0-9, '.', '_' and '-'.",
    "backoff_list": "Seconds before each retry; the last repeats. For the backoff `list`.",
    "retention_seconds": "Finished jobs are kept this long; null: always.",
    "max_age_seconds": "No attempt begins later after the due time; null: no limit.",
    "lane": "Which workers serve it: one of the setting `LANES`.",
}


def biz_type_json(biz_type: BizType, *, shows_all: bool = False, in_force: bool | None = None) -> dict[str, Any]:
    """A biz type, as :class:`BizTypeSerializer` describes it. Secrets stay inside.

    Args:
        biz_type: the biz type.
        shows_all: whether the caller may change it, and sees where its jobs go too.
        in_force: whether its limits are in force as they are shown; None where nobody asked Redis.
    """
    defined = definition_of(biz_type)
    return json_of(
        answers.BizType,
        biz_type,
        **{name: value if shows_all or name not in FOR_WRITERS else None for name, value in defined.items()},
        signed=bool(biz_type.signing_secret_sealed or biz_type.signing_key_sealed),
        has_credentials=bool(biz_type.auth_secret_sealed),
        in_force=in_force,
    )


def etag_of(biz_type: BizType) -> str:
    """What ``If-Match`` compares: another one for each state of the row, also after a change by SQL."""
    row = [getattr(biz_type, column.attname) for column in BizType._meta.concrete_fields]
    return f'"{hashlib.sha256(repr(row).encode()).hexdigest()[:24]}"'


def described_field(name: str, *, is_request: bool) -> serializers.Field[Any, Any, Any, Any]:  # noqa: PLR0911  a table
    """The field that describes a field of a definition to OpenAPI, with the bounds that it is checked by."""
    column: Any = COLUMNS[name]
    hidden = not is_request and name in FOR_WRITERS
    options: dict[str, Any] = {"help_text": _help(name, column, hidden=hidden)}
    if is_request:
        options["required"] = False
    if column.null or hidden:
        options["allow_null"] = True
    match column:
        case models.JSONField():
            return _listed(name, options)
        case models.BooleanField():
            return serializers.BooleanField(**options)
        case models.DurationField():
            return serializers.FloatField(min_value=0, max_value=LONGEST_AGE.total_seconds(), **options)
        case models.IntegerField():
            return serializers.IntegerField(**_bounds(column), **options)
        case models.FloatField():
            most = {"backoff_max_seconds": LONGEST_BACKOFF_SECONDS, "backoff_min_seconds": LONGEST_BACKOFF_SECONDS}
            rates = dict.fromkeys(("insert_rate", "delivery_rate", "key_rate"), HIGHEST_RATE)
            limits = {"max_value": limit} if (limit := {**most, **rates}.get(name)) else {}
            return serializers.FloatField(**{**_bounds(column), **limits}, **options)
        case _ if column.choices:
            return serializers.ChoiceField(choices=column.choices, **options)
    if name == "code":
        return serializers.RegexField("^[a-z0-9][a-z0-9._-]{0,99}$", max_length=100, **options)
    return serializers.CharField(max_length=column.max_length, allow_blank=column.blank, **options)


def _listed(name: str, options: dict[str, Any]) -> serializers.Field[Any, Any, Any, Any]:
    if name in ("headers", "token_fields"):
        return serializers.DictField(child=serializers.CharField(allow_blank=True), **options)
    if name == "backoff_list":
        child = serializers.FloatField(min_value=0, max_value=LONGEST_BACKOFF_SECONDS)
        return serializers.ListField(child=child, **options)
    if name == "masked_fields":
        return serializers.ListField(
            child=serializers.CharField(max_length=LONGEST_POINTER, allow_blank=True), **options
        )
    codes = serializers.IntegerField(min_value=FAILURE_CODES.start, max_value=FAILURE_CODES.stop - 1)
    return serializers.ListField(child=codes, **options)


def _help(name: str, column: Any, *, hidden: bool) -> str | None:
    said = str(_HELP.get(name) or column.help_text or "")
    if hidden:
        said = f"{said} Null: this key may not see it; that takes the scope `biz-types:write`.".strip()
    return said or None


def _bounds(column: Any) -> dict[str, Any]:
    """The least and the greatest value that the column takes, on every database."""
    found: dict[str, Any] = {}
    if isinstance(column, models.IntegerField):
        found = {"min_value": 0, "max_value": 32_767 if isinstance(column, models.SmallIntegerField) else 2**31 - 1}
    for check in column._validators:
        limit = check.limit_value
        if isinstance(check, validators.MinValueValidator):
            found["min_value"] = max(limit, found.get("min_value", limit))
        elif isinstance(check, validators.MaxValueValidator):
            found["max_value"] = min(limit, found.get("max_value", limit))
    return found


_EXAMPLE = {
    **biz_type_json(
        BizType(
            code="order.close",
            name="Close unpaid orders",
            url="https://shop.example/hooks/close",
            headers={"X-Team": "orders"},
        ),
        shows_all=True,
    ),
    "signed": True,
    "created_at": "2027-01-31T08:00:00Z",
    "updated_at": "2027-01-31T08:30:00Z",
    "in_force": True,
}
_DEFINED = {name: described_field(name, is_request=False) for name in COLUMNS}
BizTypeSerializer = serializer_of(answers.BizType, own=_DEFINED, example=_EXAMPLE)
CreatedBizTypeSerializer = serializer_of(
    answers.CreatedBizType,
    own=_DEFINED,
    example={**_EXAMPLE, "signing_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
)
