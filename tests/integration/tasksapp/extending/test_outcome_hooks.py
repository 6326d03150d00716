"""Outcome hooks: what follows outcomes is called in its order, with what was written, and the core has none itself."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from tasksapp.extending.outcome_hooks import OutcomeHook, Outcomes, outcome_hooks
from tasksapp.jobs import completion
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.models import BizType, Job, Status
from tasksapp.timers.timer import Timer
from tests.job_rows import store_job
from tests.outcomes import tried

pytestmark = pytest.mark.django_db(transaction=True)

HERE = __name__
CALLS: list[tuple[str, list[UUID], list[UUID]]] = []


def _noted(name: str, outcomes: Outcomes) -> list[Timer]:
    CALLS.append((name, [one.job.id for one in outcomes.tried], [one.job.id for one in outcomes.kept]))
    return []


SECOND = OutcomeHook(rank=20, timers=lambda outcomes: _noted("timers", outcomes))
FIRST = OutcomeHook(rank=10, follow=lambda outcomes: _noted("follow", outcomes) and None)


def test_those_that_come_with_the_app_have_this_order() -> None:
    # Flow keys wake first, so that the next job starts as early as it can. Signals come last: what a project's
    # receivers raise must keep nothing of ours from being done.
    ranks = [hook.rank for hook in outcome_hooks.all]

    assert ranks == sorted(set(ranks))
    assert outcome_hooks.all[0].follow.__module__ == "tasksapp.jobs.flow_order"  # type: ignore[union-attr]  # it has one
    assert outcome_hooks.all[-1].follow.__module__ == "tasksapp.jobs.outcome_followers"  # type: ignore[union-attr]  # likewise


def test_timers_are_asked_for_before_anything_follows_and_lost_leases_are_told_apart(
    biz_type: BizType, claimer: Claimer, completer: Completer
) -> None:
    CALLS.clear()
    due = timezone.now() - timedelta(seconds=1)
    kept, lost = (store_job(biz_type, next_run_at=due).id for _ in range(2))
    running = claimer.running_jobs(claimer.claim_due([kept, lost], now_ms=0))
    Job.objects.filter(id=lost).update(lease_token=7)

    with outcome_hooks.only(f"{HERE}.FIRST", f"{HERE}.SECOND"):
        completer.complete([Completion(job, completion.succeeded(job, tried=tried())) for job in running])

    assert [("timers", [kept, lost], [kept]), ("follow", [kept, lost], [kept])] == CALLS


def test_the_core_alone_writes_outcomes(biz_type: BizType, claimer: Claimer, completer: Completer) -> None:
    job_id = store_job(biz_type, next_run_at=timezone.now() - timedelta(seconds=1)).id
    (running,) = claimer.running_jobs(claimer.claim_due([job_id], now_ms=0))

    with outcome_hooks.only():
        completer.complete([Completion(running, completion.succeeded(running, tried=tried()))])

    assert Job.objects.get(id=job_id).status == Status.SUCCEEDED
