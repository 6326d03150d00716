"""The ``Idempotency-Key`` header, as the IETF's draft has it (draft-ietf-httpapi-idempotency-key-header)."""

from __future__ import annotations

import re
from typing import Any

from tasksapp.api.http.problems import FieldError, Problem, Refused

HEADER = "Idempotency-Key"
MOST_CHARACTERS = 200

#: A string of structured fields (RFC 9651): printable ASCII in quotes, in which a backslash stands before quotes and
#: backslashes. Many clients leave the quotes out; a word without blanks, commas and semicolons cannot be mistaken.
_STRING = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
_WORD = re.compile(r"[!#-+\--:<-\[\]-~]+")
_ESCAPED = re.compile(r"\\(.)")


def idempotency_key(meta: dict[str, Any]) -> str | None:
    """The key in a request's headers; None where it has none. Raises Refused (400) where it cannot be read."""
    raw = meta.get("HTTP_IDEMPOTENCY_KEY")
    if raw is None:
        return None
    key = _read(raw.strip())
    if not 0 < len(key) <= MOST_CHARACTERS:
        detail = (
            f'Idempotency-Key must be one string in quotes, such as "order-42", of 1 to {MOST_CHARACTERS} characters.'
        )
        error = FieldError(HEADER, "malformed", detail)
        raise Refused(Problem(status=400, code="malformed_idempotency_key", detail=detail, errors=[error]))
    return key


def _read(text: str) -> str:
    if quoted := _STRING.fullmatch(text):
        return _ESCAPED.sub(r"\1", quoted[1])
    return text if _WORD.fullmatch(text) else ""
