"""Claim rules: the core claims without any, those of the app have their order, and a project adds its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.extending.claim_rules import (
    Claim,
    ClaimHook,
    EndRule,
    WaitRule,
    claim_hooks,
    end_rules,
    wait_rules,
)
from tasksapp.jobs.creation import create
from tasksapp.models import BizType, Job, Status
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.sql.claim_jobs import claim_statement
from tasksapp.sql.decision import Decision
from tests.integration.tasksapp.claiming import claim
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

HERE, NOON = __name__, timedelta(hours=12)

#: Jobs of even priority wait a minute.
WAITS = WaitRule(
    name="even",
    rank=15,
    when="even",
    columns={"even": "mod(j.priority, 2) = 0"},
    holds=lambda job, decision, claim, in_turn: job.priority % 2 == 0,
    again_after=timedelta(minutes=1),
)


def _claim_the_first(ids: Sequence[UUID], under_way: Claim, in_turn: bool) -> ClaimAnswer:
    answer = ClaimAnswer(token=under_way.token)
    first, *others = sorted(ids)
    under_way.claim(answer, [first], True)
    answer.blocked = others
    return answer


#: One of those of priority 3 at a time.
ONE_AT_A_TIME = WaitRule(
    name="third",
    rank=25,
    when="third",
    columns={"third": "j.priority = 3 AND NOT %(in_turn)s"},
    holds=lambda job, decision, claim, in_turn: job.priority == 3 and not in_turn,
    apart=_claim_the_first,
    claims=True,
)
#: Those of priority 9 are too old.
ENDS = EndRule(
    rank=5,
    decision=Decision.OLD,
    when="j.priority = 9",
    found=lambda jobs, using: [job.id for job in jobs if job.priority == 9],
)
SETTLES = ClaimHook(rank=5, settle=lambda answer, claim: answer.locked.extend(job.id for job in answer.claimed))


def due_job(biz_type: BizType, **fields: object) -> Job:
    """A job that has been due for a second."""
    return store_job(biz_type, next_run_at=timezone.now() - timedelta(seconds=1), **fields)


@pytest.fixture
def core_alone() -> Iterator[None]:
    """No ability takes part in claims."""
    with wait_rules.only(), end_rules.only(), claim_hooks.only():
        yield


def test_those_that_come_with_the_app_have_this_order() -> None:
    # The turn of a flow key is taken first, and holds while it is asked whether another job of the biz id runs. What a
    # series has yet to say, and ends from which jobs follow, matter only for jobs that nothing keeps waiting.
    assert [rule.name for rule in wait_rules.all] == ["ordered", "waiting", "unsettled", "followed"]
    assert [rule.decision for rule in end_rules.all] == [Decision.RESOLVED]
    assert len({rule.rank for rule in wait_rules.all}) == len(wait_rules.all)


@pytest.mark.usefixtures("core_alone")
def test_the_claim_of_the_core_alone_names_no_ability() -> None:
    statement = claim_statement().sql

    for name in ("ordered", "place IS", "live_key", "series ", "tombstone", "on_dead", "on_resolved"):
        assert name not in statement, name


@pytest.mark.usefixtures("core_alone")
def test_the_core_alone_claims_what_is_due(biz_type: BizType) -> None:
    due = due_job(biz_type)
    later = store_job(biz_type, next_run_at=timezone.now() + NOON)

    answer = claim(due.id, later.id)

    assert [job.id for job in answer.claimed] == [due.id]
    assert [job_id for job_id, _ in answer.not_due] == [later.id]
    assert Job.objects.get(id=due.id).status == Status.RUNNING


def test_a_rule_of_a_project_leaves_rows_until_later(biz_type: BizType) -> None:
    odd, even = due_job(biz_type, priority=5), due_job(biz_type, priority=4)
    now = timezone.now()

    with wait_rules.only(f"{HERE}.WAITS"):
        answer = claim(odd.id, even.id, now=now)

    assert [job.id for job in answer.claimed] == [odd.id]
    assert answer.not_due == [(even.id, now + timedelta(minutes=1))]
    assert Job.objects.get(id=even.id).status == Status.PENDING


def test_a_rule_of_a_project_decides_apart(biz_type: BizType) -> None:
    others = sorted(due_job(biz_type, priority=3).id for _ in range(2))
    free, even = due_job(biz_type, priority=1).id, due_job(biz_type, priority=2).id

    with wait_rules.only(f"{HERE}.ONE_AT_A_TIME", f"{HERE}.WAITS"):
        answer = claim(free, even, *others)

    assert {job.id for job in answer.claimed} == {free, others[0]}
    assert answer.blocked == others[1:]
    assert answer.gone == []
    assert Job.objects.get(id=even).status == Status.PENDING


def test_a_rule_of_a_project_ends_rows(biz_type: BizType) -> None:
    old, young = due_job(biz_type, priority=9), due_job(biz_type, priority=5)

    with end_rules.only(f"{HERE}.ENDS"):
        answer = claim(old.id, young.id)

    assert (answer.ended, [job.id for job in answer.claimed]) == ([old.id], [young.id])
    assert Job.objects.get(id=old.id).status == Status.DEAD


def test_a_hook_of_a_project_changes_the_answer(biz_type: BizType) -> None:
    job = due_job(biz_type)

    with claim_hooks.only(f"{HERE}.SETTLES"):
        answer = claim(job.id)

    assert answer.locked == [job.id]


def test_a_job_that_two_rules_leave_is_decided_by_both(biz_type: BizType) -> None:
    """The jobs are in order and too old, and a job follows each death: the first of the key ends, the next waits."""
    BizType.objects.update(ordered=BizType.Ordered.LETS_GO, on_dead=biz_type.code, max_age=timedelta(minutes=1))
    biz_type_cache.clear()
    past = timezone.now() - NOON
    first, second = (create("order.close", flow_key="k", due_at=past).job_id for _ in range(2))

    answer = claim(first, second)
    again = claim(second)

    assert (answer.ended, answer.blocked) == ([first], [second])
    assert again.ended == [second]
    assert Job.objects.exclude(id__in=[first, second]).count() == 2  # what follows
