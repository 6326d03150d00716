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
        process = psutil.Process(running.pid)
        before = sum(process.cpu_times()[:2])
        with pytest.raises(psutil.TimeoutExpired):
            process.wait(1.5)

        assert sum(process.cpu_times()[:2]) - before < 0.4
        assert DelayQueue(redis_client, "celery").count().ready >= 16


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["gevent", pytest.param("eventlet", marks=pytest.mark.nightly)])
def test_a_greenlet_that_computes_longer_than_its_lease_runs_once(
    pool: str, proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    short = {"LEASE_SECONDS": "1.5", "ACKS_LATE": "1"}
    with worker(pool, **short) as first, worker(pool, **short) as second:
        task_id = proj.compute.delay(4.0).id

        wait_until(lambda: ledger.task_ids(proj, "end"), otherwise=lambda: f"an end: {first.log} {second.log}")
        wait_until(lambda: DelayQueue(redis_client, "celery").count() == Counts(0, 0, 0, 0), otherwise="an empty queue")

        assert ledger.task_ids(proj, "start") == [task_id]
        assert "ran out before" not in first.log + second.log


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["solo", "threads", "gevent"])
def test_a_task_that_is_acknowledged_early_starts_once_although_it_stops_the_whole_process(
    pool: str, proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    with worker(pool, LEASE_SECONDS="1.5") as first:
        for _ in range(20):
            proj.add.delay(1, 1)
        task_id = proj.compute_in_c.delay(7.0).id
        wait_until(lambda: ledger.task_ids(proj), otherwise=lambda: f"a start: {first.log}")

        # The last of the quick ones may have stopped with its thread before it began.
        queue = DelayQueue(redis_client, "celery")
        assert not redis_client.hexists(queue.keys.payload, task_id), first.log
        with worker("threads", LEASE_SECONDS="1.5"):
            wait_until(lambda: ledger.task_ids(proj, "end"), otherwise="an end")
            wait_until(lambda: not redis_client.exists(queue.keys.payload), otherwise="an empty queue")

        assert ledger.task_ids(proj) == [task_id]
        assert queue.count() == Counts(0, 0, 0, 0)


@pytest.mark.slow
def test_quick_tasks_share_calls_for_their_early_acknowledgements(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    for _ in range(300):
        proj.add.delay(1, 1)
    queue = DelayQueue(redis_client, "celery")
    redis_client.config_resetstat()
    with worker("solo", PREFETCH="50"):
        wait_until(lambda: not redis_client.exists(queue.keys.payload), otherwise="an empty queue")

        assert queue.count() == Counts(0, 0, 0, 0)
        assert redis_client.info("commandstats")["cmdstat_evalsha"]["calls"] < 200


@pytest.mark.slow
def test_c_code_that_cost_the_lease_is_reported_and_the_task_ends_all_the_same(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    short = {"LEASE_SECONDS": "1", "ACKS_LATE": "1"}
    queue = DelayQueue(redis_client, "celery")
    with worker("solo", **short) as first:
        task_id = proj.compute_in_c.delay(3.0).id
        wait_until(lambda: ledger.task_ids(proj), otherwise=lambda: f"a start: {first.log}")
        wait_until(lambda: queue.reap().returned, otherwise="a lost lease")

        wait_until(lambda: queue.count() == Counts(0, 0, 0, 0), otherwise="an empty queue")

        assert set(ledger.task_ids(proj)) == {task_id}  # it may have been claimed again before the acknowledgement
        wait_until(lambda: "longer than lease_seconds" in first.log, otherwise=lambda: first.log)
