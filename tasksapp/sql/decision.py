"""Decision: what a claim does with a job that is due."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from tasksapp.models import BizType, Transition, error_class
from tasksapp.sql.tombstones import REASON

TOO_OLD = "max_age is used up"
TOO_LATE = "too late: max_lateness is exceeded"
TOO_LONG = "it expired: expires_at has passed"


class Decision(Enum):
    """What a claim does with a job that is due: the change of status, its reason and its kind of error.

    A late job's decisions have the values of ``BizType.WhenLate``. ``EXPIRED`` was never tried, ``LAPSED`` was.
    """

    RUN = "run", Transition.CLAIM
    FORWARD = ("forward",)
    RESOLVED = "resolved", Transition.RESOLVE, REASON, error_class.RESOLVED
    SKIP = BizType.WhenLate.SKIP.value, Transition.SKIP, TOO_LATE, error_class.TOO_LATE
    DEAD = BizType.WhenLate.DEAD.value, Transition.EXPIRE, TOO_LATE, error_class.TOO_LATE
    OLD = "old", Transition.EXPIRE, TOO_OLD, error_class.MAX_AGE
    EXPIRED = "expired", Transition.SKIP, TOO_LONG, error_class.EXPIRED
    LAPSED = "lapsed", Transition.EXPIRE, TOO_LONG, error_class.EXPIRED

    def __new__(cls, value: str, transition: Transition | None = None, reason: str = "", kind: str = "") -> Decision:
        made = object.__new__(cls)
        made._value_ = value
        made.values = {} if transition is None else {"status": transition.target}
        if reason:
            made.values |= {"last_error": reason, "error_class": kind}
        made.is_death = transition is Transition.EXPIRE
        #: Whether it waits for the end of an outage; see ``SETTLE_WAIT``.
        made.by_lateness = kind in (error_class.TOO_LATE, error_class.MAX_AGE)
        return made

    values: dict[str, str]
    is_death: bool
    by_lateness: bool

    def __str__(self) -> str:
        return str(self.value)


def among(decisions: Iterable[Decision]) -> str:
    """Decisions as SQL's ``IN`` wants them."""
    return "({})".format(", ".join(f"'{one}'" for one in decisions))
