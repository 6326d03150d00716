"""A worker that gets messages as no Celery producer writes them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from delayhub.engine import DelayQueue
from tests.acceptance.celery_worker import CeleryWorker
from tests.malformed_messages import QUEUE, made_up, run


@pytest.mark.slow
def test_a_worker_outlives_malformed_messages_which_are_dead_and_runs_the_good_ones(
    worker: Callable[..., CeleryWorker], redis_client: redis.Redis, env: dict[str, str]
) -> None:
    with worker("solo") as running, redis.Redis.from_url(env["RESULT_URL"]) as ledger:
        found = run(DelayQueue(redis_client, QUEUE), made_up(100, number=1), running, ledger=ledger)

    assert found["spoilt and dead"] == found["spoilt"] > 30
    assert found["good that ran"] == found["good"] == 5
    assert found["good that are dead"] == 0
