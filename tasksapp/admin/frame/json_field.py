"""JsonField: a form's field for JSON that PostgreSQL can store and receivers can read."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput


class JsonField(forms.JSONField):
    """Takes strict JSON: no NaN, no NUL, no half of a surrogate pair, not nested too deeply, no endless numbers."""

    def to_python(self, value: Any) -> Any:
        """The value. Raises ValidationError where it is not such JSON."""
        if isinstance(value, str) and value not in self.empty_values:
            try:
                _read(value)
            except (ValueError, RecursionError) as error:
                raise ValidationError(self.error_messages["invalid"], code="invalid") from error
        return super().to_python(value)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """What the form shows again: where it is not valid, as the person wrote it."""
        if data is None:
            return None
        try:
            return _read(data)
        except (ValueError, RecursionError):
            return InvalidJSONInput(data)


def _read(text: str) -> Any:
    """The value in the text. Raises ValueError or RecursionError."""
    value = json.loads(text, parse_constant=_refuse)
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    written.encode()  # fails at half a surrogate pair
    if "\\u0000" in written:
        raise ValueError("PostgreSQL stores no NUL")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")
