"""What callers may send in the place of a JSON body: a text or bytes, which reach the receiver as they are."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from rest_framework import serializers

from tasksapp.api.http.problems import refused
from tasksapp.jobs.exact_bytes import ANY_BYTES, CONTENT_TYPE, LONGEST_CONTENT_TYPE, PLAIN_TEXT
from tasksapp.jobs.written_json import WrittenJson

TEXT, BASE64, KIND = "body_text", "body_base64", "content_type"
#: A request that names one of the two has something else than JSON for a body.
BODIES = frozenset({TEXT, BASE64})
#: JSON Schema of two bodies at once. Null is not given.
_BODY = {"required": ["body"], "properties": {"body": {"not": {"type": "null"}}}}
_OF_TEXT = {"required": [TEXT], "properties": {TEXT: {"type": "string"}}}
_OF_BASE64 = {"required": [BASE64], "properties": {BASE64: {"type": "string"}}}
TWO_BODIES: list[dict[str, Any]] = [
    {"allOf": [_BODY, _OF_TEXT]},
    {"allOf": [_BODY, _OF_BASE64]},
    {"allOf": [_OF_TEXT, _OF_BASE64]},
]


def body_fields() -> dict[str, serializers.Field[Any, Any, Any, Any]]:
    """The fields that describe them to OpenAPI."""
    optional: dict[str, Any] = {"required": False, "allow_null": True}
    return {
        TEXT: serializers.CharField(
            **optional, allow_blank=True, trim_whitespace=False,
            help_text="In the place of `body`: a text, sent to the receiver in UTF-8 as it is.",
        ),
        BASE64: serializers.RegexField(
            "^[A-Za-z0-9+/]*={0,2}$", **optional, allow_blank=True,
            help_text="In the place of `body`: bytes in base64, which the receiver gets as they are.",
        ),
        KIND: serializers.RegexField(
            f"^$|{CONTENT_TYPE}", max_length=LONGEST_CONTENT_TYPE, **optional, allow_blank=True,
            help_text=f"Of `body_text` (by default `{PLAIN_TEXT}`) or `body_base64` (`{ANY_BYTES}`). JSON has its own.",
        ),
    }  # fmt: skip


def with_bytes(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with ``raw`` in the place of ``body_text`` or ``body_base64``, and the content type of a text.

    Raises Refused where both are given, or one beside a body, or where the base64 is none.
    """
    found = {name: value for name, value in fields.items() if name not in (TEXT, BASE64)}
    text, encoded = fields.get(TEXT), fields.get(BASE64)
    if text is None and encoded is None:
        return found
    if text is not None and encoded is not None:
        raise refused(TEXT, "conflict", f"give {TEXT} or {BASE64}, not both")
    name = BASE64 if text is None else TEXT
    if not is_null(fields.get("body")):
        raise refused(name, "conflict", f"give body or {name}, not both")
    found.pop("body", None)
    given = encoded if text is None else text
    if not isinstance(given, str):
        raise refused(name, "invalid", f"{name} must be a string")
    found["raw"] = _decoded(given) if text is None else given.encode()
    if text is not None and not found.get(KIND):
        found[KIND] = PLAIN_TEXT
    return found


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:  # also for a character that is not of ASCII
        raise refused(BASE64, "invalid", f"{BASE64} must be base64 with padding: {error}") from None


def is_null(body: Any) -> bool:
    """Whether no JSON body is given: null, as it was written or not, is none."""
    return body is None or (isinstance(body, WrittenJson) and body.value is None)
