"""Leases in real workers: kept while tasks run, whatever the pool does to its event loop; no spinning without room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psutil
import pytest
import redis

from delayhub.engine import Counts, DelayQueue
from tests.acceptance import ledger
from tests.acceptance.celery_worker import CeleryWorker
from tests.waiting import wait_until


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["solo", "prefork", "gevent"])  # blocks the loop, forks, patches threads
def test_a_task_longer_than_its_lease_runs_once(
    pool: str, proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    short = {"LEASE_SECONDS": "1.5", "ACKS_LATE": "1"}
    with worker(pool, **short) as first, worker("threads", **short):
        ids = sorted(proj.run.delay(3.5).id for _ in range(4))

        wait_until(lambda: len(ledger.task_ids(proj, "end")) >= 4, otherwise=lambda: f"four ends: {first.log}")
        wait_until(lambda: DelayQueue(redis_client, "celery").count() == Counts(0, 0, 0, 0), otherwise="an empty queue")

        assert sorted(ledger.task_ids(proj, "end")) == ids
        assert "ran out before they could be renewed" not in first.log


@pytest.mark.slow
def test_a_worker_without_room_does_not_spin_while_work_waits(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    with worker("threads", PREFETCH="1", ACKS_LATE="1") as running:
        for _ in range(20):
            proj.run.delay(3.0)
        wait_until(lambda: proj.ledger.llen("ledger:start") == 2, otherwise="two starts")
        assert running.process is not None
        process = psutil.Process(running.process.pid)
        before = sum(process.cpu_times()[:2])
        with pytest.raises(psutil.TimeoutExpired):
            process.wait(1.5)

        assert sum(process.cpu_times()[:2]) - before < 0.4
        assert DelayQueue(redis_client, "celery").count().ready >= 16
