"""What becomes of occurrences that nothing published in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from delayhub.errors import OptionError

#: An occurrence that is later than this was missed; others are only late, and each is published.
MISSED_AFTER_MS = 10_000
#: Missed occurrences that are made up for at most; the older ones are left out.
MOST_MADE_UP = 100


class Missed(StrEnum):
    """What is done about missed occurrences."""

    ONCE = "once"
    """One message for all of them."""
    ALL = "all"
    """A message for each of the last 100."""
    SKIP = "skip"
    """None."""

    @classmethod
    def of(cls, value: object) -> Missed:
        """The policy of that name.

        Raises:
            OptionError: there is none.
        """
        try:
            return cls(str(value))
        except ValueError:
            raise OptionError(f"beat_missed must be once, all or skip, got {value!r}") from None


class Turn(NamedTuple):
    """What to do about the occurrence that is due: publish it for that nominal time (0: not at all), then go on."""

    nominal_ms: int
    next_ms: int


def turn(
    due_ms: int,
    now_ms: int,
    *,
    policy: Missed,
    following: Callable[[int], int],
    missed: Callable[[], Sequence[int]],
    deadline_ms: int | None = None,
) -> Turn:
    """What to do about an occurrence.

    Args:
        due_ms: when it was due.
        now_ms: the time.
        policy: what is done about missed ones.
        following: the occurrence after a time; 0 for none.
        missed: the last occurrences from the one that is due until now.
        deadline_ms: how late a missed one may be published at all; None for any lateness.
    """
    if now_ms - due_ms <= MISSED_AFTER_MS:
        return Turn(due_ms, following(due_ms))
    times = missed()
    latest = times[-1]
    if policy is Missed.ALL:
        return Turn(times[0], following(times[0]))
    most_late = MISSED_AFTER_MS if policy is Missed.SKIP else deadline_ms
    is_too_late = most_late is not None and now_ms - latest > most_late
    return Turn(0 if is_too_late else latest, following(latest))
