"""What a refusal says of each fault of a request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of a request: its field (None: the whole request), a code for programs, a sentence for people."""

    field: str | None
    code: str
    message: str
