"""LeftOut: an entry that cannot be published as it is written; it stands in the list of entries with the reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

#: Characters of a reason.
MOST_SAID = 300


@dataclass(frozen=True, slots=True)
class Never:
    """A schedule without occurrences, and why it has none."""

    reason: str


@dataclass(slots=True)
class LeftOut:
    """The stand-in for an entry that cannot be published.

    Args:
        name: the entry's.
        schedule: the reason.
        task: the task's name, as far as it is known.
    """

    name: str
    schedule: Never
    task: str = ""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    last_run_at: datetime | None = None
    total_run_count: int = 0

    @classmethod
    def of(cls, name: object, error: Exception, *, task: object = "") -> LeftOut:
        """Return what stands for the entry of that name, which the error is about."""
        kind = "" if isinstance(error, Unfit) else f"{type(error).__name__}: "
        return cls(str(name), Never(" ".join(f"{kind}{error}".split())[:MOST_SAID]), str(task))


class Unfit(ValueError):
    """An entry says what no beat can do; the text says why."""
