"""The queue of a delayed task."""

from __future__ import annotations

import redis
from celery import Celery

from delayhub import delayed_task
from delayhub.engine import DelayQueue


def test_a_plain_call_goes_to_the_queue_that_the_decorator_names(app: Celery, redis_client: redis.Redis) -> None:
    @delayed_task(biz_type="order.pack", name="tests.pack", queue="packing")
    def pack() -> None:
        """Does nothing."""

    app.tasks["tests.pack"].delay()

    assert DelayQueue(redis_client, "packing").count().ready == 1
