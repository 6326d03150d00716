"""A task that kills the process it runs in, with a worker that lives on, or one that dies with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis
from billiard.exceptions import WorkerLostError
from celery import chain, chord

from delayhub.engine import Counts, DelayQueue
from tests.acceptance import ledger
from tests.acceptance.celery_worker import CeleryWorker
from tests.waiting import wait_until


@pytest.mark.slow
def test_a_task_that_no_process_survives_dies_after_its_strikes_and_the_others_run(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    with worker("prefork", ACKS_LATE="1", MAX_STRIKES="3") as running:
        deadly = proj.die.delay()
        endless = proj.die.apply_async(kwargs={"slowly": True}, time_limit=1)
        good = [proj.run.delay().id for _ in range(10)]

        queue = DelayQueue(redis_client, "celery")
        wait_until(
            lambda: queue.count() == Counts(0, 0, 0, 2), otherwise=lambda: f"two dead and nothing else: {running.log}"
        )

    starts = ledger.task_ids(proj)
    assert sorted(task_id for task_id in starts if task_id in good) == sorted(good)
    assert (starts.count(deadly.id), starts.count(endless.id)) == (3, 3)
    assert {task.id: task.reason for task in proj.app.control.dead()} == {
        deadly.id: "lost its process or its lease 3 times",
        endless.id: "lost its process or its lease 3 times",
    }


@pytest.mark.slow
def test_a_caller_who_waits_for_a_task_that_no_process_survives_gets_its_end(
    proj: Any, worker: Callable[..., CeleryWorker]
) -> None:
    with worker("prefork", ACKS_LATE="1", MAX_STRIKES="2"):
        alone = proj.die.apply_async(link_error=proj.note_error.si())
        after = chain(proj.die.si(), proj.add.si(1, 1)).apply_async()
        body = proj.total.s().on_error(proj.note_error.s())
        together = chord([proj.add.s(1, 1), proj.die.si()], body).apply_async()

        for waited_for in (alone, after, together):
            with pytest.raises(WorkerLostError, match="lost its process or its lease 2 times"):
                waited_for.get(timeout=60, disable_sync_subtasks=False)
        wait_until(
            lambda: proj.ledger.llen("ledger:error") == 2, otherwise="the errback of the task and that of the chord"
        )


@pytest.mark.slow
def test_a_task_that_takes_the_whole_worker_down_dies_and_its_neighbours_do_not(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    good = [proj.run.delay().id for _ in range(3)]
    deadly = proj.die.delay()
    good += [proj.run.delay().id for _ in range(3)]
    queue = DelayQueue(redis_client, "celery")

    for _ in range(4):  # it is started again each time
        with worker("solo", ACKS_LATE="1", PREFETCH="10", MAX_STRIKES="4", LEASE_SECONDS="0.3") as running:
            running.wait()
    with worker("solo", ACKS_LATE="1", PREFETCH="10", MAX_STRIKES="4", LEASE_SECONDS="0.3") as running:
        wait_until(
            lambda: queue.count() == Counts(0, 0, 0, 1), otherwise=lambda: f"one dead, the others done: {running.log}"
        )

    assert set(ledger.task_ids(proj, "end")) == set(good)
    assert [(task.id, task.reason) for task in proj.app.control.dead()] == [
        (deadly.id, "lost its process or its lease 4 times")
    ]
