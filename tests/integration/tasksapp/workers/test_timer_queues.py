"""Workers take the timers by themselves; those that leave them out say so where no other takes them."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery import Celery
from celery.concurrency.eventlet import TaskPool as EventletPool
from kombu import Queue

from tasksapp.maintenance.loader import Leader
from tasksapp.timers.fitness import check_broker
from tasksapp.workers.timer_queues import report_faults, report_unserved_timers, take_timers

LANE = "delayhub.timers"


@pytest.fixture
def app(settings: Any, current_celery: Celery, broker: str) -> Celery:
    """The process' Celery app; its task_queues do not name the timers."""
    current_celery.conf.broker_url = broker
    current_celery.conf.task_queues = [Queue("orders")]
    settings.DELAYHUB = {}
    return current_celery


def start(app: Celery, **options: Any) -> None:
    take_timers(instance=SimpleNamespace(app=app), options=options)


def reports(app: Celery, caplog: pytest.LogCaptureFixture, *, is_green: bool = False) -> str:
    logging.getLogger("tasksapp").propagate = True
    with caplog.at_level(logging.WARNING):
        worker = SimpleNamespace(app=app, pool=SimpleNamespace(is_green=is_green))
        report_faults(worker)
        report_unserved_timers(worker)
    return caplog.text


def test_a_worker_takes_the_timers_though_no_setting_names_them(app: Celery, caplog: pytest.LogCaptureFixture) -> None:
    start(app)

    queue = app.amqp.queues.consume_from[LANE]
    assert queue.queue_arguments == {"x-delayhub-task": "tasksapp.deliver", "x-delayhub-batch": 100}
    assert "tasksapp.deliver" in app.tasks
    assert reports(app, caplog) == ""


def test_a_queue_that_the_settings_name_stays_as_it_is(app: Celery) -> None:
    own = Queue(LANE, queue_arguments={"x-delayhub-task": "tasksapp.deliver", "x-delayhub-batch": 7})
    app.conf.task_queues = [own]

    start(app)

    assert app.amqp.queues.consume_from[LANE].queue_arguments["x-delayhub-batch"] == 7


@pytest.mark.parametrize("given", [{"pool_cls": "gevent"}, {"pool_cls": None, "pool": EventletPool}])
def test_a_pool_of_greenlets_gets_no_timers(app: Celery, given: dict[str, Any]) -> None:
    start(app, **given)

    assert LANE not in app.amqp.queues.consume_from


def test_a_pool_of_greenlets_names_itself_as_the_reason(app: Celery, caplog: pytest.LogCaptureFixture) -> None:
    start(app, pool_cls="gevent")

    report = reports(app, caplog, is_green=True)

    assert "a pool of greenlets (gevent, eventlet) cannot deliver jobs" in report
    assert "celery -A … worker -P threads -Q delayhub.timers" in report


def test_no_setting_is_blamed_where_a_pool_of_greenlets_is_given_the_timers(
    app: Celery, caplog: pytest.LogCaptureFixture
) -> None:
    start(app, pool_cls="gevent")
    app.select_queues([LANE])

    # The worker ends at once, and says why: tasksapp.workers.signals.
    assert reports(app, caplog, is_green=True) == ""


def test_a_worker_that_leaves_the_timers_out_says_that_no_other_takes_them(
    app: Celery, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    start(app)
    app.select_queues(["orders"])

    assert "no other worker takes them at this moment" in reports(app, caplog)

    caplog.clear()
    Leader().hold()
    assert reports(app, caplog) == ""


def test_a_worker_on_another_transport_says_that_no_job_can_run(app: Celery, caplog: pytest.LogCaptureFixture) -> None:
    app.conf.broker_url = "memory://"

    assert "no job can run: memory:// is no broker of DelayHub's" in reports(app, caplog)


def test_a_timer_queue_without_its_arguments_is_an_error_that_says_what_to_write(app: Celery) -> None:
    app.conf.task_queues = [Queue(LANE)]

    (error,) = check_broker(None)

    assert 'Queue("delayhub.timers", queue_arguments={"x-delayhub-task": "tasksapp.deliver"' in error.msg
