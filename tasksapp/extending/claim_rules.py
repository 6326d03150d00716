"""Claim rules: conditions under which a due job is not run by a claim, but left or ended.

The claim is one SQL statement, composed of the rules that are added. An ability that is not installed costs it nothing.
Each condition is given twice, in SQL for PostgreSQL and in Python for other databases; the two must agree.

Example: jobs that wait while a warehouse counts its stock, and are claimed again a minute later::

    WAITS_FOR_STOCK = WaitRule(
        name="stock",
        rank=50,
        when="counting",
        columns={"counting": "EXISTS (SELECT FROM shop_count c WHERE c.biz_type_id = b.id)"},
        holds=lambda job, decision, claim, in_turn: Count.objects.filter(biz_type=job.biz_type).exists(),
        again_after=timedelta(minutes=1),
    )
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from tasksapp.extending.registry import Registry

if TYPE_CHECKING:
    from tasksapp.models import Job
    from tasksapp.sql.claim_answer import ClaimAnswer
    from tasksapp.sql.decision import Decision


class Claim(NamedTuple):
    """A claim under way.

    Args:
        now: Redis' time.
        using: the database.
        token: what each outcome of the claimed rows has to bring.
        worker: who claims.
        claim: claims further ids into an answer, by the same statement; True for those that hold their turn.
    """

    now: datetime
    using: str
    token: int
    worker: str
    claim: Callable[[ClaimAnswer, Sequence[UUID], bool], None]


#: Words by which the claim itself says why it left a row.
RESERVED = frozenset({"gone", "not due", "shut", "locked"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRule:
    """Due rows that the claim leaves as they are. The first rule that holds counts.

    Args:
        name: one word, which the statement and the answer have.
        rank: its place among the rules.
        when: the condition, in SQL over ``columns`` and ``decision``.
        holds: the same for a row of the ORM, with what the claim decided about it. The last argument is True if the
            caller holds the turn of these rows.
        columns: what ``when`` needs, by name: SQL over the job ``j`` and its biz type ``b``. ``%(now)s`` is the time,
            ``%(in_turn)s`` the last argument of ``holds``, and ``%%`` a percent sign.
        again_after: the rows are claimed again after this long. None if ``apart`` decides.
        apart: decides about the rows in a transaction of its own, after those that need no such thing are claimed, and
            returns what became of them. Rules of a higher rank come first.
        claims: whether ``apart`` may claim rows, and so is also called by a rule that holds the turn of these rows.

    Raises ValueError if the name is one of ``RESERVED``, or unless either ``again_after`` or ``apart`` is given.
    """

    name: str
    rank: int
    when: str
    holds: Callable[[Job, Decision, Claim, bool], bool]
    columns: Mapping[str, str] = field(default_factory=dict)
    again_after: timedelta | None = None
    apart: Callable[[Sequence[UUID], Claim, bool], ClaimAnswer] | None = None
    claims: bool = False

    def __post_init__(self) -> None:
        if self.name in RESERVED:
            raise ValueError(f"a wait rule cannot be named {self.name!r}: the claim itself uses that word")
        if (self.again_after is None) == (self.apart is None):
            raise ValueError(f"the wait rule {self.name!r} needs again_after or apart, and not both")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRule:
    """Due rows that end instead of running. The first rule that holds counts.

    Args:
        rank: its place among the rules.
        decision: what becomes of the rows.
        when: the condition, in SQL over the job ``j`` and its biz type ``b``.
        found: the ids of those of some rows for which it holds; the last argument is the database.
    """

    rank: int
    decision: Decision
    when: str
    found: Callable[[Sequence[Job], str], Collection[UUID]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimHook:
    """Work for each claim.

    Args:
        rank: its place among the hooks.
        settle: may change the answer before it is used, such as take back what may not run.
        after: follows up on the answer, once the timers of jobs that do not run now are set again; with the database.
    """

    rank: int
    settle: Callable[[ClaimAnswer, Claim], Any] | None = None
    after: Callable[[ClaimAnswer, str], Any] | None = None


wait_rules: Registry[WaitRule] = Registry("wait rules")
end_rules: Registry[EndRule] = Registry("end rules")
claim_hooks: Registry[ClaimHook] = Registry("claim hooks")
