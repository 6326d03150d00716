"""What happens in a worker beside its tasks: when it is ready, when it forks, and when it ends."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from celery.concurrency import get_implementation
from celery.exceptions import WorkerShutdown

from delayhub.engine import TimerLane
from tasksapp.models import BizType, Pulse
from tasksapp.stats.pulse_recorder import pulse_recorder
from tasksapp.workers import delivery_runtime, signals
from tasksapp.workers.signals import (
    finish_deliveries,
    plan_maintenance,
    start_maintenance,
    start_numbers,
    start_stand_in,
    stop_maintenance,
    warm_up_child,
    warm_up_worker,
)

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


class Thread:
    """A maintenance thread that does nothing."""

    started: list[Thread] = []

    def __init__(self, loader: Any) -> None:
        self.stopped = threading.Event()

    def start(self) -> None:
        Thread.started.append(self)

    def stop(self) -> None:
        self.stopped.set()


class Counting(Thread):
    """A counting thread that does nothing."""

    def __init__(self, counter: Any, *, holds_seat: Any, using: str) -> None:
        super().__init__(counter)
        assert holds_seat() is False


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[Thread]:
    """The maintenance threads that were started."""
    monkeypatch.setattr(signals, "MaintenanceThread", Thread)
    monkeypatch.setattr(signals, "CountingThread", Counting)
    monkeypatch.setattr(signals._Running, "thread", None)
    monkeypatch.setattr(signals._Running, "counting", None)
    monkeypatch.setattr(Thread, "started", [])
    return Thread.started


def test_a_worker_that_serves_timers_keeps_the_tables_in_order_once(lane: TimerLane, threads: list[Thread]) -> None:
    start_maintenance(consumer("prefork", "celery").app)
    assert threads == []

    start_maintenance(consumer("prefork", lane.name).app)
    start_maintenance(consumer("prefork", lane.name).app)

    assert [type(thread) for thread in threads] == [Thread, Counting]


def test_without_a_redis_in_the_settings_nothing_is_started(
    lane: TimerLane, threads: list[Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "names_redis", lambda: False)

    start_maintenance(consumer("solo", lane.name).app)

    assert threads == []


def test_a_worker_begins_with_them_before_it_connects_and_after_its_children_are_there(
    lane: TimerLane, threads: list[Thread], current_celery: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_celery.amqp.queues, "_consume_from", {lane.name: None})

    plan_maintenance(sender=SimpleNamespace(app=current_celery))

    (step,) = current_celery.steps["worker"]
    assert step.requires == ("celery.worker.components:Pool",)
    step(None).start(SimpleNamespace(app=current_celery, pool=None))
    assert [type(thread) for thread in threads] == [Thread, Counting]


def test_a_worker_that_shuts_down_leaves_the_tables_to_another_without_waiting(
    lane: TimerLane, threads: list[Thread]
) -> None:
    start_maintenance(consumer("solo", lane.name).app)

    stop_maintenance()
    stop_maintenance()

    assert all(thread.stopped.wait(60) for thread in threads)


@pytest.mark.parametrize(("queues", "opens"), [(["delayhub.timers"], True), (["celery"], False)])
def test_a_child_opens_its_own_right_after_the_fork(
    queues: list[str], opens: bool, current_celery: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_celery.amqp.queues, "_consume_from", dict.fromkeys(queues))

    warm_up_child()

    assert is_open() is opens


@pytest.mark.parametrize(
    ("pool", "queue", "started"),
    [
        ("solo", "delayhub.timers", True),
        ("threads", "delayhub.timers", True),
        # its children deliver, and each has its own
        ("prefork", "delayhub.timers", False),
        ("solo", "celery", False),
    ],
)
def test_before_redis_was_ever_reached_a_process_that_delivers_looks_for_it(
    monkeypatch: pytest.MonkeyPatch, pool: str, queue: str, started: bool
) -> None:
    stand_in = SimpleNamespace(start=lambda: None, stop=lambda: None)
    monkeypatch.setattr(signals, "RedisStandIn", lambda: stand_in)
    monkeypatch.setattr(signals._Running, "stand_in", None)
    sender = consumer(pool, queue)

    start_stand_in(sender=SimpleNamespace(app=sender.app, pool_cls=pool))

    assert (signals._Running.stand_in is stand_in) is started


def test_the_numbers_of_a_process_are_written_until_it_ends(biz_type: BizType) -> None:
    start_numbers()
    pulse_recorder.counts.add_deaths([(biz_type.id, "too_late")], now_ms=0)

    finish_deliveries()

    assert Pulse.objects.get().key == "too_late"


def test_before_a_process_ends_its_callbacks_are_finished(lane: TimerLane) -> None:
    warm_up_worker(sender=consumer("solo", lane.name))

    finish_deliveries()

    assert not is_open()
