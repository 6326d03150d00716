"""What Redis knows of Celery's queues and of workers, as Prometheus gets it."""

from __future__ import annotations

import redis
from celery import Celery

from tasksapp.metrics.redis_numbers import queue_numbers, worker_numbers
from tasksapp.queues.heartbeats import Beat, write_beat
from tests.integration.tasksapp.metrics.samples import samples


def test_each_queue_has_what_waits_and_what_is_due(app: Celery) -> None:
    app.send_task("shop.close", countdown=1000)
    app.send_task("shop.close")

    found = samples(queue_numbers())

    parts = ("waiting", "due", "leased", "dead")
    assert [found[f"delayhub_queue_{part}", "celery"] for part in parts] == [1, 1, 0, 0]
    assert ("delayhub_queue_due", "delayhub.timers") in found


def test_another_broker_has_none(current_celery: Celery) -> None:
    current_celery.conf.broker_url = "memory://"

    assert samples(queue_numbers()) == {}


def test_workers_are_added_up_with_their_children(redis_client: redis.Redis) -> None:
    for name in ("a:1:t", "b:1:t"):
        write_beat(redis_client, Beat(name=name, concurrency=4, running_count=2, open_callbacks=5))
    write_beat(redis_client, Beat(name="a:2:t", parent="a:1:t", open_callbacks=7))

    assert samples(worker_numbers()) == {
        ("delayhub_workers",): 2,
        ("delayhub_worker_slots",): 8,
        ("delayhub_tasks_running",): 4,
        ("delayhub_callbacks_open",): 17,
    }
