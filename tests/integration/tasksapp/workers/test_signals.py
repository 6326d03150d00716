"""What happens in a worker when it is ready, before its first job."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from celery.concurrency import get_implementation
from celery.exceptions import WorkerShutdown

from delayhub.engine import TimerLane
from tasksapp.workers import delivery_runtime
from tasksapp.workers.signals import warm_up_worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("ends_delivery")]


def consumer(pool: str, *queues: str) -> Any:
    """A worker's consumer, as far as the signal's receivers look at it."""
    app = SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace(consume_from=queues)))
    kind = get_implementation(pool)
    # Not started: a solo pool would say at once that its process is there.
    return SimpleNamespace(app=app, pool=kind.__new__(kind))


def is_open() -> bool:
    return delivery_runtime._here.runtime is not None


@pytest.mark.parametrize("pool", ["solo", "threads"])
def test_a_worker_that_is_ready_can_deliver_at_once(pool: str, lane: TimerLane) -> None:
    warm_up_worker(sender=consumer(pool, lane.name, "celery"))

    assert is_open()


def test_a_parent_opens_nothing_that_its_children_would_share(lane: TimerLane) -> None:
    warm_up_worker(sender=consumer("prefork", lane.name))

    assert not is_open()


def test_a_worker_without_timers_opens_nothing(lane: TimerLane) -> None:
    warm_up_worker(sender=consumer("solo", "celery"))

    assert not is_open()


def test_a_pool_of_greenlets_is_refused_where_it_would_have_to_deliver(
    lane: TimerLane, caplog: pytest.LogCaptureFixture
) -> None:
    sender = consumer("solo", lane.name)
    sender.pool = SimpleNamespace(is_green=True)

    with pytest.raises(WorkerShutdown) as stop:
        warm_up_worker(sender=sender)

    assert stop.value.code == 1
    assert f"leave {lane.name} out of -Q" in caplog.text
