"""Limits of tasks over all workers: what code declares and what persons set, on each queue."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from celery.exceptions import WorkerShutdown
from celery.worker import state

from delayhub.celery_support.control import Control
from delayhub.celery_support.share_limits import ShareLimits, hooks_of_app
from delayhub.celery_support.task_limits import declare
from delayhub.engine import DelayQueue
from delayhub.engine.limits import Limit, read_limits
from delayhub.engine.task_name import KEY_MARK
from delayhub.errors import OptionError


def in_force(app: Celery, queue: str = "celery") -> dict[str, str | None]:
    """The rate of each task that has ever had one on a queue."""
    control: Any = app.control
    return {limit.task: limit.rate for limit in control.rate_limits(queue).get(queue, [])}


@pytest.fixture
def consumer(app: Celery) -> Any:
    """What a worker's step gets."""
    pool = SimpleNamespace(limit=4, uses_semaphore=False)
    return SimpleNamespace(app=app, pool=pool, disable_rate_limits=False)


def test_what_a_person_sets_wins_over_what_code_declares_also_after_restarts(app: Celery, queue: DelayQueue) -> None:
    declare(queue, {"shop.close": "10/s", "shop.mail": "1/m", "shop.add": None})
    assert in_force(app) == {"shop.close": "10/s", "shop.mail": "1/m"}

    app.control.rate_limit("shop.close", "5/s")
    declare(queue, {"shop.close": "20/s", "shop.mail": None})

    assert in_force(app) == {"shop.close": "5/s"}
    control: Any = app.control
    [limit] = control.rate_limits()["celery"]
    assert (limit.declared, bool(limit.set_at), "@" in limit.set_by) == ("20/s", True, True)

    app.control.rate_limit("shop.close", 0)
    assert in_force(app) == {"shop.close": None}
    app.control.rate_limit("shop.close", None)
    assert in_force(app) == {"shop.close": "20/s"}


@pytest.mark.parametrize("each_key", [False, True])
def test_limits_are_set_and_taken_back_where_redis_is_full(app: Celery, queue: DelayQueue, *, each_key: bool) -> None:
    control: Any = app.control
    task = "shop.close" + (KEY_MARK if each_key else "")
    queue.client.zadd(queue.keys.shut, {"shop.close\\u0000tenant-7": 2**50})
    queue.client.config_set("maxmemory", "1mb")
    try:
        control.set_rate_limit("shop.close", "5/s", each_key=each_key)
        control.set_max_in_flight("shop.close", 3, each_key=each_key)
        found = read_limits(queue)
        assert (found.set[task].amount, found.set_at_once[task].amount) == (200_000, 3)
        assert queue.client.zscore(queue.keys.shut, "shop.close\\u0000tenant-7") == (0 if each_key else 2**50)

        control.set_rate_limit("shop.close", None, each_key=each_key)
        assert not read_limits(queue).set
    finally:
        queue.client.config_set("maxmemory", "0")


def test_a_limit_that_is_set_holds_on_queues_that_come_later(app: Celery, queue: DelayQueue) -> None:
    app.control.rate_limit("shop.close", "5/s")
    later = DelayQueue(queue.client, "later")

    declare(later, {"shop.close": None})
    assert read_limits(later).set["shop.close"].amount == 200_000

    app.control.rate_limit("shop.close", None)  # it does not know of the queue
    declare(later, {"shop.close": None})
    assert read_limits(later) == ({}, {}, {}, {})


def test_what_is_no_rate_is_refused_and_changes_nothing(app: Celery, queue: DelayQueue) -> None:
    for wrong in ("fast", "5/parsec", "-1/s", "nan/s", "inf/s", "1e-300/s", "1e-9/h", True, "", [1]):
        with pytest.raises(ValueError, match="a rate limit"):
            app.control.rate_limit("shop.close", wrong)

    assert in_force(app) == {}


def test_without_a_worker_the_command_says_what_was_done(app: Celery) -> None:
    assert app.control.rate_limit("shop.close", "5/s", reply=True, timeout=0.05) == [
        {"delayhub": {"ok": "set in Redis for 1 queues; no worker answered"}}
    ]


def test_a_worker_declares_its_limits_where_it_consumes_and_switches_celerys_off(
    app: Celery, queue: DelayQueue, consumer: Any
) -> None:
    app.tasks["shop.close"].rate_limit = "10/s"

    ShareLimits(consumer)
    app.tasks["shop.close"].rate_limit = "1/h"  # what Celery's own command does is no declaration
    hooks_of_app(app).on_consume(queue)
    hooks_of_app(app).on_consume(DelayQueue(queue.client, "replies.pidbox"))

    assert consumer.disable_rate_limits
    assert in_force(app) == {"shop.close": "10/s"}
    assert read_limits(DelayQueue(queue.client, "replies.pidbox")) == ({}, {}, {}, {})


def test_a_worker_without_rate_limits_declares_none(app: Celery, queue: DelayQueue, consumer: Any) -> None:
    app.tasks["shop.close"].rate_limit = "10/s"
    consumer.disable_rate_limits = True

    ShareLimits(consumer)
    hooks_of_app(app).on_consume(queue)

    assert in_force(app) == {}


def test_a_worker_declares_how_many_of_a_task_run_at_once_and_a_person_may_say_otherwise(
    app: Celery, queue: DelayQueue, consumer: Any
) -> None:
    control: Any = app.control
    app.tasks["shop.close"].max_in_flight = 1
    ShareLimits(consumer)
    hooks_of_app(app).on_consume(queue)
    for number in range(3):
        app.send_task("shop.close", [str(number)])
    assert len(queue.claim(10).entries) == 1

    [limit] = control.rate_limits("celery")["celery"]
    assert (limit.at_once, limit.running, limit.parked, limit.at_once_declared) == (1, 1, 2, 1)
    control.set_max_in_flight("shop.close", 2, by="ann")
    hooks_of_app(app).on_consume(queue)  # a worker that starts later changes nothing of that

    assert len(queue.claim(10).entries) == 1
    [limit] = control.rate_limits("celery")["celery"]
    assert (limit.at_once, limit.running, limit.at_once_set_by) == (2, 2, "ann")
    later = DelayQueue(queue.client, "later")
    declare(later, {})
    assert read_limits(later).set_at_once["shop.close"].amount == 2
    control.set_max_in_flight("shop.close", None)
    assert [found.at_once for found in control.rate_limits("celery")["celery"]] == [1]


@pytest.mark.parametrize(
    ("option", "rate", "logged"),
    [
        ("rate_limit", "fast", "rate_limit of shop.close: a rate limit is like 10/s, 100/m or 5/h, got 'fast'"),
        ("rate_limit", "-1/m", "rate_limit of shop.close: a rate limit must not be negative, got '-1/m'"),
        ("key_rate_limit", "10/d", "key_rate_limit of shop.close: a rate limit is like 10/s, 100/m or 5/h, got '10/d'"),
    ],
)
def test_a_worker_does_not_start_with_what_is_no_rate_and_names_the_task(
    app: Celery, consumer: Any, caplog: pytest.LogCaptureFixture, option: str, rate: str, logged: str
) -> None:
    setattr(app.tasks["shop.close"], option, rate)
    logger = logging.getLogger("delayhub.celery_support.share_limits")
    logger.addHandler(caplog.handler)

    with pytest.raises(WorkerShutdown):
        ShareLimits(consumer)

    logger.removeHandler(caplog.handler)
    assert f"This worker does not start: {logged}" in caplog.text


@pytest.mark.parametrize("most", [0, True, "2", 10**10])
def test_a_worker_does_not_start_with_a_number_at_once_that_cannot_hold(app: Celery, consumer: Any, most: Any) -> None:
    app.tasks["shop.close"].max_in_flight = most

    with pytest.raises(WorkerShutdown):
        ShareLimits(consumer)


def test_a_number_at_once_that_cannot_hold_is_refused(app: Celery, queue: DelayQueue) -> None:
    control: Any = app.control

    with pytest.raises(OptionError, match="can have no limit"):
        control.set_max_in_flight('shop."close"', 2)
    for wrong in (-1, "3", 2.5, True, 10**30):
        with pytest.raises(ValueError, match="is a number from 0 to"):
            control.set_max_in_flight("shop.other", wrong)

    assert read_limits(queue) == ({}, {}, {}, {})


def test_a_worker_knows_how_many_tasks_it_could_start(
    app: Celery, consumer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ShareLimits(consumer)
    for running, free in ((0, 4), (3, 1), (9, 0)):
        monkeypatch.setattr(state, "reserved_requests", range(running))
        assert hooks_of_app(app).free_processes() == free


def test_a_worker_whose_pool_a_cold_shutdown_has_stopped_starts_no_task(
    app: Celery, consumer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer.pool = SimpleNamespace(uses_semaphore=True)  # Celery's knows of no number then
    ShareLimits(consumer)
    monkeypatch.setattr(state, "should_terminate", True)

    assert hooks_of_app(app).free_processes() == 0


def test_an_autoscaled_worker_counts_the_processes_that_it_may_still_start(
    app: Celery, consumer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    autoscaler = SimpleNamespace(max_concurrency=6)
    consumer.controller = SimpleNamespace(autoscaler=autoscaler)
    ShareLimits(consumer)
    monkeypatch.setattr(state, "reserved_requests", range(5))

    assert hooks_of_app(app).free_processes() == 1
    autoscaler.max_concurrency = 8  # `celery control autoscale`
    assert hooks_of_app(app).free_processes() == 3
    consumer.controller.autoscaler = None
    assert hooks_of_app(app).free_processes() == 0


def test_a_parked_task_counts_where_people_look(app: Celery, queue: DelayQueue) -> None:
    declare(queue, {"shop.close": "1/h"})
    for number in range(3):
        app.send_task("shop.close", [str(number)])
    assert len(queue.claim(10).entries) == 1
    control: Any = app.control

    assert isinstance(control, Control)
    assert control.counts("celery")["celery"].parked == 2
    assert (control.backlogs("celery")["celery"].parked, control.backlogs("celery")["celery"].due) == (2, 0)
    assert [limit.parked for limit in control.rate_limits("celery")["celery"]] == [2]
    assert read_limits(queue).declared == {"shop.close": Limit(3_600_000_000, "1/h")}
