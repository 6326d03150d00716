"""The claim of jobs of ordered flow keys: the first of each key, in a transaction that holds the keys."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from tasksapp.extending.claim_rules import Claim, WaitRule, wait_rules
from tasksapp.models import BizType
from tasksapp.models.conflicts import repeated
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.sql.ordered_keys import begin_jobs, take_turns


@repeated
def _claim_first(ids: Sequence[UUID], under_way: Claim, in_turn: bool) -> ClaimAnswer:
    """Claim those of the jobs that are the first of their flow keys."""
    answer, using = ClaimAnswer(token=under_way.token), under_way.using
    with transaction.atomic(using=using):
        turns = take_turns(ids, using=using)
        answer.blocked, answer.locked = turns.blocked, turns.locked
        if turns.first:
            under_way.claim(answer, turns.first, True)
            # What these claim is begun with the others, while the keys are held.
            for rule in wait_rules.all:
                if rule.claims and rule.apart is not None and (left := answer.left.pop(rule.name, None)):
                    answer.add(rule.apart(left, under_way, True))
            begun = begin_jobs([job.id for job in (*answer.claimed, *answer.forwarded)], using=using)
            answer.claimed = [job._replace(turn=begun[job.id]) for job in answer.claimed]
    return answer


WAITS_FOR_TURN = WaitRule(
    name="ordered",
    rank=10,
    when="ordered",
    columns={"ordered": f"b.ordered <> '{BizType.Ordered.NO}' AND j.place IS NOT NULL AND NOT %(in_turn)s"},
    holds=lambda job, decision, claim, in_turn: job.biz_type.is_ordered and job.place is not None and not in_turn,
    apart=_claim_first,
    claims=True,
)
