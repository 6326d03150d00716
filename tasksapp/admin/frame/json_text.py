"""JSON, indented for people, with every number and string as it was written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

#: The parts of JSON; what stands between them are blanks.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.0-9A-Za-z]+|[{}\[\],:]')
_OPENING, _CLOSING = "{[", "}]"


def indented(text: str) -> str:
    """The JSON in lines of their own; any other text unchanged.

    Numbers and strings are copied, never read: ``1e2`` would come back as 100.0, 90071992547409931.0 with other digits,
    and ``\\u00e9`` as another text than was signed.
    """
    try:
        json.loads(text, parse_int=_skip, parse_float=_skip)
    except (ValueError, RecursionError):
        return text
    return "".join(_pieces(_TOKEN.findall(text)))


def _skip(digits: str) -> str:
    """No number is made of the digits: Python refuses to read very long ones."""
    return digits


def _pieces(tokens: list[str]) -> Iterator[str]:
    depth = 0
    before = ""
    for part in tokens:
        if part in _CLOSING:
            depth -= 1
            if before not in _OPENING:
                yield _line(depth)
        elif before and before in _OPENING:
            yield _line(depth)
        yield part
        if part in _OPENING:
            depth += 1
        elif part == ",":
            yield _line(depth)
        elif part == ":":
            yield " "
        before = part


def _line(depth: int) -> str:
    return "\n" + "  " * depth
