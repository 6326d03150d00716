"""Leases of jobs whose tasks run here are renewed, however long the tasks run."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import OperationalError
from django.utils import timezone

from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import BizType, Job
from tasksapp.workers import lease_keeper as module
from tasksapp.workers.lease_keeper import LeaseKeeper
from tests.integration.tasksapp.stored_jobs import due
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def keeper(monkeypatch: pytest.MonkeyPatch) -> LeaseKeeper:
    """A keeper whose turns are made by the test."""
    monkeypatch.setattr(LeaseKeeper, "_run", lambda self: None)
    return LeaseKeeper()


def running(claimer: Claimer, count: int = 1) -> list[RunningJob]:
    """So many jobs that this process has claimed, and whose leases are about to end."""
    jobs = claimer.running_jobs(claimer.claim_due([due() for _ in range(count)], now_ms=0))
    Job.objects.update(lease_until=timezone.now() + timedelta(seconds=1))
    return jobs


def seconds_left() -> float:
    lease_until = Job.objects.earliest("lease_until").lease_until
    assert lease_until is not None
    return (lease_until - timezone.now()).total_seconds()


def test_leases_are_renewed_while_their_tasks_run(
    biz_type: BizType, claimer: Claimer, completer: Completer, keeper: LeaseKeeper
) -> None:
    first, second = running(claimer, 2)

    with keeper.hold(first, completer=completer), keeper.hold(second, completer=completer):
        assert keeper.run_once() == 2
        assert seconds_left() > 30

    assert keeper.run_once() == 0


def test_a_task_that_fails_lets_go_of_its_lease_too(
    biz_type: BizType, claimer: Claimer, completer: Completer, keeper: LeaseKeeper
) -> None:
    (job,) = running(claimer)

    with pytest.raises(ValueError, match="no such order"), keeper.hold(job, completer=completer):
        raise ValueError("no such order")

    assert keeper.run_once() == 0


def test_a_lease_that_was_lost_is_logged_and_the_others_go_on(
    biz_type: BizType, claimer: Claimer, completer: Completer, keeper: LeaseKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    lost, kept = running(claimer, 2)
    Job.objects.filter(id=lost.id).update(lease_token=0)

    with keeper.hold(lost, completer=completer), keeper.hold(kept, completer=completer):
        assert keeper.run_once() == 1

    assert f"the lease of job {lost.id} was lost" in caplog.text


def test_a_forked_child_holds_nothing(
    biz_type: BizType, claimer: Claimer, completer: Completer, keeper: LeaseKeeper
) -> None:
    (job,) = running(claimer)
    with keeper.hold(job, completer=completer):
        child = LeaseKeeper()
        child.__dict__.update(keeper.__dict__)

        child.forget()

        assert child.run_once() == 0


def test_its_thread_renews_by_itself_and_survives_a_failure(
    biz_type: BizType, claimer: Claimer, completer: Completer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "options", lambda: SimpleNamespace(renew_seconds=0.001))
    turns: list[str] = []

    def turn(self: LeaseKeeper) -> int:
        turns.append("")
        if len(turns) < 3:
            raise [OperationalError("away"), ZeroDivisionError("a fault of ours")][len(turns) - 1]
        return 0

    monkeypatch.setattr(LeaseKeeper, "run_once", turn)
    keeper = LeaseKeeper()
    (job,) = running(claimer)

    with keeper.hold(job, completer=completer):
        wait_until(lambda: len(turns) >= 3)
