"""Options that do nothing where they stand are named, each in a sentence."""

from __future__ import annotations

from celery import Celery
from kombu import Queue

from delayhub.celery_support.idle_options import idle_slots, idle_task_options, scheme_of


def do_nothing() -> None: ...


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


def test_another_broker_makes_tasks_neither_unique_nor_limits_how_many_run() -> None:
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
