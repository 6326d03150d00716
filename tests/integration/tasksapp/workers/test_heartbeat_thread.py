"""The heartbeats of a worker process: what they say, when they begin and end, and that none harms the worker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery.concurrency import get_implementation
from celery.worker import state

from tasksapp.queues.heartbeats import NAMED_TASKS, Beat, read_workers
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers import heartbeat_thread
from tasksapp.workers.heartbeat_thread import (
    HeartbeatThread,
    beat_of,
    beat_of_child,
    process_name,
    start_childs_heartbeats,
    start_heartbeats,
    stop_heartbeats,
)
from tests.waiting import wait_until


class Request(SimpleNamespace):
    """A request of Celery's, as far as a heartbeat looks at it."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # it is kept in a set


@pytest.fixture(autouse=True)
def _no_requests() -> Iterator[None]:
    yield
    stop_heartbeats()
    state.active_requests.clear()
    state.reserved_requests.clear()


def consumer(pool: str = "threads") -> Any:
    """A worker's consumer, as far as a heartbeat looks at it."""
    queues = SimpleNamespace(consume_from={"celery": None, "delayhub.timers": None})
    made = get_implementation(pool).__new__(get_implementation(pool))
    made.limit = 3
    return SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=queues)), pool=made, hostname="celery@here")


def test_it_says_what_the_worker_runs_and_what_it_holds() -> None:
    clock = RedisClock(client)
    running, held = Request(id="1", name="shop.close", time_start=1.0), Request(id="2", name="shop.open")
    state.active_requests.add(running)
    for request in (running, held):
        state.reserved_requests.add(request)

    beat = beat_of(consumer(), clock, started_ms=5)

    assert (beat.pid, beat.node, beat.pool, beat.concurrency) == (os.getpid(), "celery@here", "threads", 3)
    assert [(task_id, name) for task_id, name, _ in beat.tasks] == [("1", "shop.close")]
    assert (beat.running_count, beat.held, beat.queues) == (1, ["2"], ("celery", "delayhub.timers"))


def test_a_worker_full_of_tasks_names_some_and_counts_all() -> None:
    requests = [Request(id=str(number), name="t", time_start=None) for number in range(NAMED_TASKS + 5)]
    for request in requests:
        state.active_requests.add(request)

    beat = beat_of(consumer(), RedisClock(client), started_ms=5)

    assert (len(beat.tasks), beat.running_count) == (NAMED_TASKS, NAMED_TASKS + 5)


def test_a_worker_that_is_ready_is_seen_and_one_that_ended_is_not() -> None:
    start_heartbeats(sender=consumer())
    wait_until(read_workers)

    stop_heartbeats()

    assert read_workers() == []


def test_a_child_adds_to_its_parent() -> None:
    child = beat_of_child(RedisClock(client))

    assert child.parent == process_name()  # this process imported the module


def test_the_solo_pool_announces_no_child() -> None:
    start_childs_heartbeats()

    assert heartbeat_thread._Running.thread is None


def test_while_redis_is_away_a_heartbeat_fails_without_harm(settings: Any) -> None:
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}

    assert HeartbeatThread(lambda _: Beat(name="x")).run_once() is False


def test_a_worker_whose_settings_name_no_redis_has_no_heartbeats(settings: Any) -> None:
    settings.DELAYHUB = {"REDIS_URL": "http://nonsense"}

    start_heartbeats(sender=consumer())

    assert heartbeat_thread._Running.thread is None


def test_a_heartbeat_that_was_written_is_found_under_its_name(redis_client: redis.Redis) -> None:
    thread = HeartbeatThread(lambda clock: beat_of(consumer("solo"), clock, started_ms=1))

    assert thread.run_once() is True
    assert [(found.node, found.pool) for found in read_workers()] == [("celery@here", "solo")]
