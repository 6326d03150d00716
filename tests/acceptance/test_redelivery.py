"""A task that comes again says so, and Celery acts on that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis

from delayhub.engine import Counts, DelayQueue
from tests.acceptance import ledger
from tests.acceptance.celery_worker import CeleryWorker
from tests.waiting import wait_until


@pytest.mark.slow
def test_a_task_that_rejects_its_first_delivery_succeeds_at_the_second(
    proj: Any, worker: Callable[..., CeleryWorker]
) -> None:
    with worker("threads"):
        task = proj.reject_first.delay()

        assert task.get(timeout=60) is True
        assert ledger.task_ids(proj) == [task.id] * 2


@pytest.mark.slow
def test_a_task_that_had_succeeded_when_its_worker_was_lost_does_not_run_again(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    options = {"ACKS_LATE": "1", "DEDUPLICATE": "1"}
    with worker("threads", DIES_AFTER_TASK="1", **options) as first:
        task = proj.run.delay()
        first.wait()
    assert DelayQueue(redis_client, "celery").count().leased == 1
    assert task.state == "SUCCESS"

    with worker("threads", **options) as second:
        wait_until(
            lambda: DelayQueue(redis_client, "celery").count() == Counts(0, 0, 0, 0),
            otherwise=lambda: f"an empty queue: {second.log}",
        )

    assert ledger.task_ids(proj) == [task.id]
