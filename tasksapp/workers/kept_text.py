"""What a task leaves with its attempt: a text that is written in the same statement as the outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

AfterEnd = Callable[[BaseException | None], None]
#: What an exception has, where something is to be kept with the attempt that it ends, or done after it.
ATTRIBUTE, AFTER = "delayhub_kept", "delayhub_after"


@dataclass(frozen=True, slots=True)
class Kept:
    """The result of a task's function, where something is to be kept with its attempt.

    Args:
        text: what is kept.
        after: called with the task's exception or None, when the job has ended and that is committed.
    """

    text: str
    after: AfterEnd | None = None


def kept_text(result: Any, error: BaseException | None) -> str:
    """What is to be kept; '' for nothing."""
    if error is not None:
        return str(getattr(error, ATTRIBUTE, ""))
    return result.text if isinstance(result, Kept) else ""


def after_end(result: Any, error: BaseException | None) -> AfterEnd | None:
    """What is to be done when the job has ended; None for nothing."""
    if error is not None:
        after: AfterEnd | None = getattr(error, AFTER, None)
        return after
    return result.after if isinstance(result, Kept) else None
