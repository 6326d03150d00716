"""The arguments of a job's task as JSON, with the types that Celery's messages carry: Decimal, date, UUID, bytes …

They are written as kombu writes them: what JSON has no word for becomes ``{"__type__": …, "__value__": …}``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from kombu.utils.json import dumps, loads


def encoded(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as JSON values: ``{"args": […], "kwargs": {…}}``.

    Raises:
        TypeError: a value cannot be JSON, or a dictionary has keys that are not text; JSON would turn them into text.
    """
    return {
        "args": [_encoded(value, f"args[{index}]") for index, value in enumerate(args)],
        "kwargs": {name: _encoded(value, name) for name, value in kwargs.items()},
    }


def decoded(text: str) -> Any:
    """The JSON text as values, with the types that were written. Raises ValueError where a type is unknown."""
    return loads(text)


def _encoded(value: Any, path: str) -> Any:
    """The value as plain JSON has it.

    Args:
        value: an argument, or a part of one.
        path: where it stands, for the sentence about what cannot be sent.
    """
    match value:
        case None | bool() | str() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case list() | tuple():
            return [_encoded(item, f"{path}[{index}]") for index, item in enumerate(value)]
        case dict():
            for key in value:
                if not isinstance(key, str):
                    raise TypeError(f"{path} has the key {key!r}, which JSON would turn into text: use text keys")
            return {key: _encoded(item, f"{path}[{key!r}]") for key, item in value.items()}
    try:
        return json.loads(dumps(value, default_kwargs={"allow_nan": False}))
    except (TypeError, ValueError):
        raise TypeError(f"{path} cannot be an argument of a job: JSON has nothing for {value!r:.80}") from None
