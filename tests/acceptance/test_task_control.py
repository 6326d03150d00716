"""What real workers do with tasks by order: terminate, limit, put back, give back at a cold shutdown."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import redis
from celery.exceptions import TaskRevokedError

from delayhub.engine import Counts, DelayQueue
from tests.acceptance import ledger
from tests.acceptance.celery_worker import CeleryWorker
from tests.waiting import wait_until


def started(proj: Any) -> int:
    """Of how many tasks the workers know that they have begun."""
    answers = proj.app.control.inspect(timeout=1).active() or {}
    return sum(task["time_start"] is not None for tasks in answers.values() for task in tasks)


@pytest.mark.slow
def test_tasks_are_terminated_limited_and_put_back(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    queue = DelayQueue(redis_client, "celery")
    with worker("prefork") as running:
        endless = proj.run.delay(60.0)
        wait_until(lambda: ledger.times(proj), otherwise=lambda: f"its start: {running.log}")
        proj.app.control.revoke(endless.id, terminate=True)
        with pytest.raises(TaskRevokedError):
            endless.get(timeout=60)

        limited = {proj.limited.delay().id for _ in range(6)}
        keyed = [proj.keyed.delay(tenant) for tenant in ("acme", "acme", "acme", "zeta")]
        reluctant = proj.reluctant.delay()
        reluctant.get(timeout=60)
        assert [one.get(timeout=60) for one in keyed] == ["acme", "acme", "acme", "zeta"]
        wait_until(
            lambda: limited <= {task_id for task_id, _ in ledger.times(proj)},
            otherwise=lambda: f"all of the limited: {running.log}",
        )
        wait_until(lambda: queue.count() == Counts(0, 0, 0, 0), otherwise=lambda: f"an empty queue: {running.log}")

    times = sorted(at for task_id, at in ledger.times(proj) if task_id in limited)
    assert len(times) == 6
    assert times[-1] - times[0] > 0.7  # 5 a second
    steps = [task_id for task_id, _ in ledger.times(proj, "acme")]
    assert steps == [task_id for one in keyed[:3] for task_id in (one.id, one.id)]  # one at a time, in their order
    assert [task_id for task_id, _ in ledger.times(proj)].count(reluctant.id) == 3
    assert proj.app.control.dead() == []


@pytest.mark.slow
@pytest.mark.parametrize("soft_seconds", ["0", "0.5"])  # cold at once, or after the time that a soft one allows
def test_a_cold_or_soft_shutdown_gives_everything_back(
    soft_seconds: str, proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    with worker("prefork", ACKS_LATE="1", LEASE_SECONDS="60", REJECT_LOST="1", SOFT_SECONDS=soft_seconds) as running:
        ids = sorted(proj.run.delay(30.0).id for _ in range(6))
        # The worker ends at once what it knows to be running: it hears of a start a moment after the task has begun.
        wait_until(lambda: started(proj) == 2, otherwise=lambda: f"two starts: {running.log}")
        os.kill(running.pid, signal.SIGQUIT)
        running.wait()

    queue = DelayQueue(redis_client, "celery")
    assert queue.count() == Counts(0, 6, 0, 0), running.log
    assert sorted(listed.id for listed in queue.list("ready")) == ids
    assert {listed.strikes for listed in queue.list("ready")} == {0}
