"""Which queue keeps the state of an entry."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from kombu import Exchange, Queue

from delayhub.beat.shared_ticks import lane_of


@pytest.fixture
def app() -> Iterator[Celery]:
    made = Celery("shop", set_as_current=False)
    shop, news = Exchange("shop"), Exchange("news", type="fanout")
    made.conf.task_queues = [
        Queue("celery"),
        Queue("orders", shop, routing_key="orders"),
        Queue("left", news),
        Queue("right", news),
    ]
    made.conf.task_routes = {"shop.routed": {"queue": "orders"}}
    yield made
    made.close()


@pytest.mark.parametrize(
    ("task", "options", "expected"),
    [
        ("any", {}, "celery"),
        ("any", {"queue": "orders"}, "orders"),
        # of no setting
        ("any", {"queue": "reports"}, "reports"),
        ("shop.routed", {}, "orders"),
        ("any", {"exchange": "shop", "routing_key": "orders"}, "orders"),
        # several queues: the default one keeps the state
        ("any", {"exchange": "news"}, "celery"),
    ],
)
def test_the_lane_of(task: str, options: dict[str, Any], expected: str, app: Celery) -> None:
    entry = SimpleNamespace(task=task, args=(), kwargs={}, options=options)

    assert lane_of(app, entry) == expected


def test_a_router_that_fails_does_not_stop_a_beat(app: Celery) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("no way")

    app.conf.task_routes = (fail,)

    assert lane_of(app, SimpleNamespace(task="any", args=(), kwargs={}, options={"queue": "orders"})) == "orders"
