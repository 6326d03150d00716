"""CheckedRequest: a request whose fields are judged by what describes them to OpenAPI."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from tasksapp.api.http.problems import refused
from tasksapp.jobs.validation import Moment


class CheckedRequest(serializers.Serializer[Any]):
    """What a request may hold. Unlike REST framework's own check, it takes no text for a number, and no 1 for true."""

    def judged(self, given: dict[str, Any]) -> dict[str, Any]:
        """The fields: times as datetimes, what may be a fraction as a float. Raises Refused and InvalidJob."""
        return {name: _judged(name, self.fields[name], value) for name, value in given.items()}


def _judged(name: str, field: Any, value: Any) -> Any:  # noqa: PLR0911  a table of fields
    if value is None and field.allow_null:
        return None
    if value in (None, "") and field.required:
        raise refused(name, "required", f"{name} is required, and may not be empty")
    match field:
        case serializers.DateTimeField() if value is not None:
            return Moment(field=name)(value)
        case serializers.FloatField() if type(value) in (int, float) and _is_within(field, value):
            return float(value)
        case serializers.IntegerField() if type(value) is int and _is_within(field, value):
            return value
        case serializers.BooleanField() if isinstance(value, bool):
            return value
        case serializers.ChoiceField() if isinstance(value, str) and value in field.choices:
            return value
        case serializers.CharField() if isinstance(value, str) and _is_text(field, value):
            return value
        case serializers.JSONField():  # whoever takes it has a rule for it
            return value
        case serializers.ListField() if isinstance(value, list) and _has_length(field, len(value)):
            return [_judged(name, field.child, each) for each in value]
        case serializers.DictField() if isinstance(value, dict):
            return {key: _judged(name, field.child, each) for key, each in value.items()}
    # A text may be a secret.
    got = "" if isinstance(field, serializers.CharField | serializers.DictField) else f", got {value!r:.80}"
    raise refused(name, "invalid", f"{name} must be {_wanted(field)}{got}")


def _is_within(field: Any, value: float) -> bool:
    least, most = field.min_value, field.max_value
    return (least is None or least <= value) and (most is None or value <= most)


def _is_text(field: Any, value: str) -> bool:
    return "\0" not in value and _has_length(field, len(value)) and (field.allow_blank or bool(value.strip()))


def _has_length(field: Any, length: int) -> bool:
    least, most = field.min_length, field.max_length
    return (least is None or least <= length) and (most is None or length <= most)


def _wanted(field: Any) -> str:  # noqa: PLR0911  a table of fields
    """What a field may be, in words."""
    match field:
        case serializers.DateTimeField():
            return "an ISO 8601 date and time"
        case serializers.FloatField():
            return f"a number from {field.min_value:g} to {field.max_value:g}"
        case serializers.IntegerField():
            return f"a whole number from {field.min_value} to {field.max_value}"
        case serializers.BooleanField():
            return "true or false"
        case serializers.ChoiceField():
            return f"one of {', '.join(field.choices)}"
        case serializers.ListField():
            return f"a list of {field.min_length} to {field.max_length}" if field.max_length else "a list"
        case serializers.DictField():
            return "an object of texts"
    return f"a text of at most {field.max_length} characters, without NUL"
