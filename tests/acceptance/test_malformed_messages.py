"""A worker that gets messages as no Celery producer writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis

from delayhub.engine import Counts, DelayQueue
from tests.acceptance import ledger as of_project
from tests.acceptance.celery_worker import CeleryWorker
from tests.malformed_messages import QUEUE, made_up, run
from tests.waiting import wait_until


@pytest.mark.slow
def test_a_worker_outlives_malformed_messages_which_are_dead_and_runs_the_good_ones(
    worker: Callable[..., CeleryWorker], redis_client: redis.Redis, env: dict[str, str]
) -> None:
    with worker("solo") as running, redis.Redis.from_url(env["RESULT_URL"]) as ledger:
        found = run(DelayQueue(redis_client, QUEUE), made_up(100, number=1), running, ledger=ledger)

    assert found["spoilt and dead"] == found["spoilt"] > 30
    assert found["good that ran"] == found["good"] == 5
    assert found["good that are dead"] == 0


@pytest.mark.slow
def test_a_message_that_ends_workers_for_another_reason_ends_as_many_as_it_may_have_strikes(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    fatal = proj.own.apply_async(headers={"fails": True}).id
    good = proj.own.delay().id

    for _ in range(2):
        with worker("solo", MAX_STRIKES="2") as running:
            wait_until(lambda running=running: not running.is_running, otherwise="the worker ends")
            assert f"task proj.own[{fatal}] ends this worker" in running.log
    with worker("solo", MAX_STRIKES="2") as running:
        wait_until(lambda: of_project.task_ids(proj) == [good], otherwise=lambda: f"the good one runs: {running.log}")

    assert DelayQueue(redis_client, QUEUE).count() == Counts(0, 0, 0, dead=1)
    assert [task.id for task in proj.app.control.dead()] == [fatal]


@pytest.mark.slow
def test_a_worker_outlives_malformed_commands_and_events_which_all_workers_hear(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    with worker("solo") as running:
        for channel in ("/0.celery.pidbox", "/0.celeryev/worker.heartbeat"):
            for sent in (b"[]", b"null", b"{}", b"?", b'{"body": 5, "properties": {"delivery_info": {}}}'):
                assert redis_client.publish(channel, sent) == 1

        wait_until(lambda: proj.app.control.ping(timeout=5, limit=1), otherwise=lambda: f"it answers: {running.log}")
        assert running.is_running
        assert "Connection to broker lost" not in running.log
