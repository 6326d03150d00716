"""What ``install(app, safe=True)`` changes: each line of its table, shown by something that is killed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis
from billiard.exceptions import WorkerLostError

from delayhub.engine import Counts, DelayQueue
from delayhub.local.redis_server import RedisServer
from tests.acceptance import ledger
from tests.acceptance.celery_worker import CeleryWorker
from tests.tcp_proxy import TcpProxy
from tests.waiting import wait_until

MakeWorker = Callable[..., CeleryWorker]


@pytest.mark.slow
def test_a_task_whose_worker_is_killed_is_lost_with_celerys_settings_and_runs_again_with_ours(
    proj: Any, worker: MakeWorker, redis_client: redis.Redis
) -> None:
    queue = DelayQueue(redis_client, "celery")

    def start_and_kill(**settings: str) -> str:
        started = proj.run.delay(30.0).id
        with worker("threads", **settings):
            wait_until(lambda: started in ledger.task_ids(proj), otherwise="its start")
            if not settings:  # Celery acknowledges it at its start
                wait_until(lambda: queue.count() == Counts(0, 0, 0, 0), otherwise="an empty queue")
        return str(started)

    start_and_kill()
    assert queue.count() == Counts(0, 0, 0, 0)
    kept = start_and_kill(SAFE="1")
    with worker("threads", SAFE="1"):
        wait_until(lambda: ledger.task_ids(proj).count(kept) == 2, otherwise="its second start")


@pytest.mark.slow
def test_a_task_whose_process_is_killed_fails_with_late_acknowledgement_and_runs_again_with_ours(
    proj: Any, worker: MakeWorker
) -> None:
    with worker("prefork", ACKS_LATE="1"), pytest.raises(WorkerLostError):
        proj.lose_first_process.delay().get(timeout=60)
    with worker("prefork", SAFE="1"):
        assert proj.lose_first_process.delay().get(timeout=60) == "the second process"


@pytest.mark.slow
def test_a_task_goes_on_although_its_connection_is_cut(
    proj: Any, worker: MakeWorker, redis_server: RedisServer
) -> None:
    with TcpProxy(redis_server.port) as proxy, worker("prefork", broker_port=proxy.port, SAFE="1") as running:
        task = proj.run.delay(1.5)
        wait_until(lambda: task.id in ledger.task_ids(proj), otherwise="its start")
        proxy.cut()

        assert task.get(timeout=60) == task.id
        wait_until(lambda: "Connection to broker lost" in running.log, otherwise="the loss in the log")

    assert ledger.task_ids(proj) == [task.id]


@pytest.mark.slow
def test_a_worker_ends_when_its_tries_are_used_up_and_goes_on_with_ours(
    env: dict[str, str], proj: Any, worker: MakeWorker
) -> None:
    with RedisServer() as broker:
        own = {"BROKER_URL": broker.url.replace("redis://", "delayhub://")}
        with worker("solo", MAX_RETRIES="1", **own) as counting, worker("solo", SAFE="1", **own) as safe:
            broker.kill()
            wait_until(lambda: not counting.is_running, otherwise="the end of the worker that counts its tries")

            broker.restart()
            task = proj.app.send_task("proj.run", connection=proj.app.connection_for_write(own["BROKER_URL"]))
            wait_until(
                lambda: task.id in ledger.task_ids(proj, "end"), otherwise=lambda: f"the end of a task: {safe.log}"
            )
