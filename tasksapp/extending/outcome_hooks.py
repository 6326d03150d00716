"""Outcome hooks: what abilities do once the outcomes of attempts are written.

Example: a shop counts the jobs that died::

    COUNTS_DEATHS = OutcomeHook(rank=100, follow=count_deaths)

    def count_deaths(outcomes: Outcomes) -> None:
        Deaths.add(sum(one.is_dead for one in outcomes.kept))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from tasksapp.extending.registry import Registry

if TYPE_CHECKING:
    from tasksapp.jobs.completer import Completion
    from tasksapp.timers.timer import Timer


class Outcomes(NamedTuple):
    """Outcomes that were written together.

    Args:
        tried: all of them, including those whose lease was lost.
        kept: those that count.
        now: Redis' time when they were written.
        using: the database.
        on_live_connection: runs a statement, once more if the connection turns out to be broken. The statement must
            have no effect a second time.
    """

    tried: Sequence[Completion]
    kept: Sequence[Completion]
    now: datetime
    using: str
    on_live_connection: Callable[[Callable[[], Any]], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeHook:
    """Work for outcomes that were written.

    Args:
        rank: its place among the hooks.
        timers: returns timers of other jobs, which are set together with those of retries.
        follow: is called once those are set. What it raises ends the hooks behind it; the outcomes stay.
    """

    rank: int
    timers: Callable[[Outcomes], Sequence[Timer]] | None = None
    follow: Callable[[Outcomes], None] | None = None


outcome_hooks: Registry[OutcomeHook] = Registry("outcome hooks")
