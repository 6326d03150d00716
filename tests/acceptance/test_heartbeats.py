"""A worker can be seen while it lives, with what it runs, and no longer."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from delayhub.local.redis_server import RedisServer
from delayhub.local.service import Service
from tasksapp.queues.heartbeats import WorkerBeat, read_workers
from tests.acceptance.celery_worker import worker_service
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _same_redis(settings: Any, redis_server: RedisServer) -> None:
    settings.DELAYHUB = {"REDIS_URL": redis_server.url}


@pytest.mark.parametrize("pool", ["prefork", "threads", pytest.param("solo", marks=pytest.mark.nightly)])
def test_a_worker_appears_shows_its_running_task_and_is_gone_after_a_kill(
    pool: str, patience: dict[str, str], broker: str, tmp_path: Path
) -> None:
    with worker_service("patience", patience, "-P", pool, "-c", "2", folder=tmp_path) as worker:
        wait_for(worker)
        found = the_worker()
        assert (found.pid, found.pool, found.lanes) == (worker.pid, pool, ("delayhub.timers",))
        wait_until(lambda: the_worker().is_loader)

        with Celery(broker=broker) as producer:
            sent = producer.send_task("patience.plain", queue="patience.tasks", time_limit=60)
        wait_until(lambda: the_worker().running, otherwise=worker.log.read_text)
        assert [(task.id, task.name) for task in the_worker().running] == [(sent.id, "patience.plain")]

        assert worker.pid is not None
        os.killpg(worker.pid, signal.SIGKILL)
        wait_until(lambda: not read_workers())


def test_a_worker_of_greenlets_without_timers_is_seen_too_and_gone_at_once_where_it_is_stopped(
    patience: dict[str, str], tmp_path: Path
) -> None:
    options = ("-P", "gevent", "-Q", "patience.tasks", "-c", "7")
    with worker_service("patience", patience, *options, folder=tmp_path) as worker:
        wait_for(worker)

        found = the_worker()

        assert (found.pool, found.concurrency, found.lanes, found.pid) == ("gevent", 7, (), worker.pid)

        worker.stop()

        assert read_workers() == []


def wait_for(worker: Service) -> None:
    """Until the worker is seen as one: children of its pool are there before it, and each stands for itself then."""
    wait_until(lambda: [beat.pid for beat in read_workers()] == [worker.pid], otherwise=worker.log.read_text)


def the_worker() -> WorkerBeat:
    [found] = read_workers()
    return found
