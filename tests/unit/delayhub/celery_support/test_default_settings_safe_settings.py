"""``install(app, safe=True)``: our settings stand above Celery's defaults and below all that a project sets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery

from delayhub.celery_support.default_settings import SAFE_SETTINGS
from delayhub.celery_support.install import install


@pytest.fixture
def app() -> Iterator[Celery]:
    with Celery("shop", broker="delayhub://127.0.0.1:1/0", set_as_current=False) as made:
        yield made


def as_object(app: Celery) -> None:
    app.config_from_object(SimpleNamespace(task_acks_late=False, broker_connection_max_retries=7))


def as_dict(app: Celery) -> None:
    app.config_from_object({"task_acks_late": False, "broker_connection_max_retries": 7})


def by_namespace(app: Celery) -> None:
    settings = SimpleNamespace(SHOP_TASK_ACKS_LATE=False, SHOP_BROKER_CONNECTION_MAX_RETRIES=7)
    app.config_from_object(settings, namespace="SHOP")


def by_attribute(app: Celery) -> None:
    app.conf.task_acks_late = False
    app.conf.broker_connection_max_retries = 7


def by_update(app: Celery) -> None:
    app.conf.update(task_acks_late=False, broker_connection_max_retries=7)


def by_old_names(app: Celery) -> None:
    app.config_from_object({"CELERY_ACKS_LATE": False, "BROKER_CONNECTION_MAX_RETRIES": 7})


WAYS = [as_object, as_dict, by_namespace, by_attribute, by_update, by_old_names]


@pytest.mark.parametrize("is_read_first", [False, True])
@pytest.mark.parametrize("is_set_first", [False, True])
@pytest.mark.parametrize("configure", WAYS)
def test_what_a_project_sets_wins_however_and_whenever_it_does(
    app: Celery, configure: Callable[[Celery], None], is_set_first: bool, is_read_first: bool
) -> None:
    if is_read_first:  # Celery makes its settings then
        assert app.conf.task_acks_late is False
    steps: list[Callable[[Celery], Any]] = [lambda app: install(app, safe=True), configure]
    for step in reversed(steps) if is_set_first else steps:
        step(app)

    assert (app.conf.task_acks_late, app.conf.broker_connection_max_retries) == (False, 7)
    assert (app.conf.task_reject_on_worker_lost, app.conf.worker_prefetch_multiplier) == (True, 4)


def test_where_a_project_sets_nothing_ours_are_there_once(app: Celery) -> None:
    install(install(app, safe=True), safe=True)

    conf: Any = app.conf
    assert {name: conf[name] for name in SAFE_SETTINGS} == SAFE_SETTINGS
    assert conf.maps.count(SAFE_SETTINGS) == 1


def test_without_it_celerys_own_stay(app: Celery) -> None:
    install(app)

    assert app.conf.task_acks_late is False


def test_a_task_takes_them_unless_it_was_made_before_which_is_logged(
    app: Celery, caplog: pytest.LogCaptureFixture
) -> None:
    @app.task(name="early", lazy=False, shared=False)
    def early() -> None:
        pass

    with caplog.at_level(logging.WARNING):
        install(app, safe=True)

        @app.task(name="late", lazy=False, shared=False)
        def late() -> None:
            pass

    made: Any = app.tasks
    assert (made["late"].acks_late, made["late"].reject_on_worker_lost) == (True, True)
    assert made["early"].acks_late is False
    assert "(1: early)" in caplog.text
