"""A JSON value together with the text that its caller wrote for it."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple, NoReturn


class WrittenJson(NamedTuple):
    """A body as it came in: rules judge the value; the text is what is stored, signed and sent.

    Written again from the value, ``1e2`` would be ``100.0``, and a receiver could not compare it with what was sent.

    Args:
        value: what the text means.
        text: strict JSON.
    """

    value: Any
    text: str


def read_json(text: str) -> WrittenJson:
    """The JSON that a person wrote, with its text. Raises ValueError with a sentence that says what is wrong.

    It is read as strictly as the API reads bodies: no NaN, no name twice in an object.
    """
    text = text.strip()
    try:
        value = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=object_of)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return WrittenJson(value, text)


def refuse_constant(constant: str) -> NoReturn:
    """Raises ValueError: NaN and the infinities are no JSON."""
    raise ValueError(f"{constant} is not a JSON number")


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object with these members. Raises ValueError where two have one name."""
    value = dict(pairs)
    if len(value) != len(pairs):
        # Counted in one pass: a count of each name took seconds for an object of 20 000 names.
        ((repeated, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(twice(repeated))
    return value


def twice(name: str) -> str:
    """What is wrong where an object has a name twice."""
    return f"the name {name!r} is given twice in one object"
