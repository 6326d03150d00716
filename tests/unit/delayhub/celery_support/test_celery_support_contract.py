"""What is used of Celery and Flower beyond their documentation, so that an upgrade fails loudly."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from celery import Celery, bootsteps
from celery.app import defaults
from celery.app.base import Celery as App
from celery.app.control import Control
from celery.app.task import Task
from celery.backends.base import Backend
from celery.concurrency.base import BasePool
from celery.worker import consumer, loops, request, state, strategy
from celery.worker.consumer import Connection
from flower.utils.broker import Broker, BrokerBase
from flower.views import broker as broker_view

from tests.celery_versions import CELERY


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (request.Request, "_context"),
        (request.Request, "cancel"),
        (request.Request, "on_failure"),
        (request.Request, "on_timeout"),
        (request.Request, "reject"),
        (request.Request, "message"),
        (state, "active_requests"),
        (state, "revoked"),
        (state, "should_terminate"),
        (Task, "Request"),
        (App, "control_cls"),
        (App, "_connection"),
        (App, "amqp"),
        (Control, "revoke"),
        (defaults, "_TO_OLD_KEY"),
        (Backend, "mark_as_revoked"),
        (bootsteps, "StartStopStep"),
        (Connection, "name"),
        (Broker, "queues"),
        (BrokerBase, "queues"),
    ],
)
def test_what_we_rely_on_is_there(owner: Any, name: str) -> None:
    assert hasattr(owner, name)


def test_a_worker_makes_requests_of_the_class_that_its_task_names() -> None:
    assert "symbol_by_name(task.Request)" in inspect.getsource(strategy.default)


def test_a_worker_puts_a_lost_task_back_through_reject() -> None:
    assert "self.reject(requeue=requeue)" in inspect.getsource(request.Request.on_failure)
    if CELERY >= (5, 7):  # before, it puts back none that ran into its time limit; our requests do it
        assert "self._retry_worker_lost(" in inspect.getsource(request.Request.on_failure)
        assert "self.reject(requeue=True)" in inspect.getsource(request.Request.on_timeout)


def test_steps_of_a_consumer_are_made_before_its_tasks_are_asked_for_requests() -> None:
    assert "self.blueprint.apply(self" in inspect.getsource(consumer.Consumer.__init__)
    assert "update_strategies" in inspect.getsource(consumer.Tasks.start)


def test_a_request_takes_its_eta_once_and_gives_its_task_the_dict_that_we_put_it_back_into() -> None:
    assert "message.headers.copy()" in inspect.getsource(request.Request.__init__)
    assert "if req.eta:" in inspect.getsource(strategy.default)
    assert "self.request_dict" in inspect.getsource(request.create_request_cls)


def test_requests_go_to_the_pool_with_a_callback_of_their_own_through_the_method_that_we_watch() -> None:
    assert "apply_async = pool.apply_async" in inspect.getsource(request.create_request_cls)
    assert "callback=self.on_success" in inspect.getsource(request.create_request_cls)
    assert list(inspect.signature(BasePool.apply_async).parameters) == ["self", "target", "args", "kwargs", "options"]


def test_a_consumer_makes_the_handler_of_its_messages_by_a_method_and_refuses_through_others() -> None:
    for loop in (loops.asynloop, loops.synloop):
        assert "obj.create_task_handler()" in inspect.getsource(loop)
    made = inspect.getsource(consumer.Consumer.create_task_handler)
    assert "return on_invalid_task(payload, message, exc)" in made
    assert "return self.on_decode_error(message, exc)" in made
    assert "on_unknown_message(None, message)" in made
    assert "on_decode_error=c.on_decode_error" in inspect.getsource(consumer.Tasks.start)


def test_flower_asks_a_broker_class_for_queues() -> None:
    assert "self.get_broker()" in inspect.getsource(broker_view.BrokerView.get)
    assert "broker.queues(" in inspect.getsource(broker_view.BrokerView.get)
    assert "__new__" in vars(Broker)


def test_all_connections_of_an_app_are_made_in_one_place() -> None:
    for method in (App.connection_for_read, App.connection_for_write):
        assert "return self._connection(" in inspect.getsource(method)
    assert "self.connection_for_write(" in inspect.getsource(App.connection)
    assert inspect.getsource(App).count("amqp.Connection(") == 1


def test_control_is_made_again_from_its_class() -> None:
    app = Celery("contract", set_as_current=False)

    assert "control" not in app.__dict__
    assert app.control is app.__dict__["control"]
    app.close()
