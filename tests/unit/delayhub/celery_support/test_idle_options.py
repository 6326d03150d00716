"""Options that do nothing where they stand are named, each in a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from celery import Celery, Task, _state
from kombu import Queue

from delayhub import Unique
from delayhub.celery_support.idle_options import faulty_task_options, idle_slots, idle_task_options, scheme_of


def do_nothing() -> None: ...


def close_order(order: int) -> None: ...


def app_with_options(broker: str) -> Celery:
    app = Celery("shop", broker=broker, set_as_current=False, fixups=())
    app.conf.task_queues = [
        Queue("celery"),
        Queue("one", queue_arguments={"x-delayhub-slots": 1}),
        Queue("images", queue_arguments={"x-delayhub-slots": 8}),
    ]
    for name, options in (
        ("shop.one", {"unique": True}),
        ("shop.two", {"max_in_flight": 2}),
        ("shop.keyed", {"key_rate_limit": "1/s"}),
    ):
        app.task(name=name, shared=False, **options)(do_nothing)
    return app


def test_another_broker_makes_tasks_neither_unique_nor_limits_how_many_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_state, "_on_app_finalizers", set())  # which give all apps the shared tasks of other tests
    app = app_with_options("memory://")

    assert idle_task_options(app, scheme=scheme_of(app)) == [
        "unique= does nothing on memory://, only on delayhub://: shop.one",
        "max_in_flight= does nothing on memory://, only on delayhub://: shop.two",
        "key_rate_limit= does nothing on memory://, only on delayhub://: shop.keyed",
    ]
    assert idle_task_options(app, scheme="delayhub-sentinel") == []


def test_one_server_has_no_slots() -> None:
    app = app_with_options("memory://")

    (about,) = idle_slots(app, scheme="delayhub")

    assert about == "x-delayhub-slots does nothing on one Redis server, only on a Redis Cluster: images"
    assert idle_slots(app, scheme="delayhub-cluster") == []


@pytest.fixture
def app() -> Celery:
    return Celery("shop", broker="delayhub://127.0.0.1:1/0", set_as_current=False, fixups=())


@pytest.mark.parametrize(
    ("written", "value", "meant"),
    [
        ("flow_key_bye", "order", "flow_key_by"),
        ("flow_key", "order", "flow_key_by"),  # the option of a call
        ("flow_key_bye", lambda order: order, "flow_key_by"),  # a function is a value here, and no method
        ("uniqe", True, "unique"),
        ("Unique", True, "unique"),
        ("max_in_fligth", 3, "max_in_flight"),
        ("max_inflight", 3, "max_in_flight"),
        ("max_key_in_flight", 3, "key_max_in_flight"),
        ("key_rate_limits", "1/s", "key_rate_limit"),
    ],
)
def test_an_option_that_is_nearly_one_of_ours_is_named_with_that_one(
    app: Celery, written: str, value: object, meant: str
) -> None:
    app.task(name="shop.close", shared=False, **{written: value})(close_order)  # type: ignore[call-overload]  # Celery's stubs know no option of ours

    assert faulty_task_options(app) == [
        f"{written}= of shop.close is no option and does nothing; the nearest one is {meant}="
    ]


def test_an_annotation_that_is_misspelt_is_named_too(app: Celery) -> None:
    app.conf.task_annotations = {"shop.close": {"max_in_fligth": 3}}
    app.task(name="shop.close", shared=False)(do_nothing)

    (about,) = faulty_task_options(app)

    assert "max_in_fligth= of shop.close" in about


class OwnTask(Task):  # type: ignore[type-arg]  # Celery's class takes arguments in its stubs only
    """A task class of a project, or of a library, with attributes of its own."""

    unique_on: Any = None
    max_flight: Any = None

    def flow_keys(self) -> list[str]:
        return []

    @property
    def uniques(self) -> int:
        return 0


def test_attributes_of_a_projects_own_are_left_alone(app: Celery) -> None:
    app.task(
        name="shop.own",
        shared=False,
        base=OwnTask,
        unique_on=["order"],  # celery-singleton's
        max_flight=3,  # like one of ours, but its class knows it
        once={"keys": ["order"]},  # celery-once's
        date_limit="2026-11-22",
        customer="key",
        rate_limit="1/s",  # Celery's
        max_retries=3,
        unique=True,
        flow_key_by="order",
    )(close_order)

    assert faulty_task_options(app) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"flow_key_by": "oder"}, "flow_key_by names oder, and its arguments are order, reason"),
        (
            {"unique": Unique(by=["order", "raeson"])},
            "unique=Unique(by=…) names raeson, and its arguments are order, reason",
        ),
        ({"unique": {"by": ["oder"]}}, "unique=Unique(by=…) names oder, and its arguments are order, reason"),
        ({"unique": 5}, "unique must be True, a text, a mapping or a Unique, got 5"),
        ({"flow_key_by": 5}, "flow_key_by of shop.close must be the name of an argument, or a function, got 5"),
    ],
)
def test_an_option_with_which_each_call_fails_is_named(app: Celery, options: dict[str, Any], expected: str) -> None:
    def close(self: Any, order: int, reason: str = "") -> None: ...

    app.task(name="shop.close", bind=True, shared=False, **options)(close)

    assert faulty_task_options(app) == [f"each call of shop.close fails: {expected}"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"rate_limit": "fast"}, "rate_limit of shop.close: a rate limit is like 10/s, 100/m or 5/h, got 'fast'"),
        ({"key_rate_limit": "1/y"}, "key_rate_limit of shop.close: a rate limit is like 10/s, 100/m or 5/h, got '1/y'"),
        ({"max_in_flight": "3"}, "max_in_flight of shop.close must be a number from 1 to 1000000000, got '3'"),
        ({"key_max_in_flight": 0}, "key_max_in_flight of shop.close must be a number from 1 to 1000000000, got 0"),
    ],
)
def test_a_limit_with_which_no_worker_starts_is_named(app: Celery, options: dict[str, Any], expected: str) -> None:
    app.task(name="shop.close", shared=False, **options)(close_order)

    assert faulty_task_options(app) == [f"no worker starts: {expected}"]


def test_a_limit_that_does_nothing_on_another_broker_keeps_no_worker_from_starting() -> None:
    app = Celery("shop", broker="memory://", set_as_current=False, fixups=())
    app.task(name="shop.close", shared=False, max_in_flight="3")(close_order)

    assert faulty_task_options(app) == []


def test_rates_that_no_worker_looks_at_are_no_fault(app: Celery) -> None:
    app.conf.worker_disable_rate_limits = True
    app.task(name="shop.close", shared=False, rate_limit="fast", key_rate_limit="fast")(close_order)

    assert faulty_task_options(app) == []


def test_a_task_that_takes_any_argument_may_be_by_any(app: Celery) -> None:
    def close(**options: Any) -> None: ...

    app.task(name="shop.close", shared=False, flow_key_by="order", unique=Unique(by=["order"]))(close)

    assert faulty_task_options(app) == []
