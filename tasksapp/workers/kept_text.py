"""What a task leaves with its attempt: a text that is written in the same statement as the outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: What an exception has, where something is to be kept with the attempt that it ends.
ATTRIBUTE = "delayhub_kept"


@dataclass(frozen=True, slots=True)
class Kept:
    """The result of a task's function, where something is to be kept with its attempt."""

    text: str


def kept_text(result: Any, error: BaseException | None) -> str:
    """What is to be kept; '' for nothing."""
    if error is not None:
        return str(getattr(error, ATTRIBUTE, ""))
    return result.text if isinstance(result, Kept) else ""
