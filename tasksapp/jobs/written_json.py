"""A JSON value together with the text that its caller wrote for it."""

from __future__ import annotations

from typing import Any, NamedTuple


class WrittenJson(NamedTuple):
    """A body as it came in: rules judge the value; the text is what is stored, signed and sent.

    Written again from the value, ``1e2`` would be ``100.0``, and a receiver could not compare it with what was sent.

    Args:
        value: what the text means.
        text: strict JSON.
    """

    value: Any
    text: str
