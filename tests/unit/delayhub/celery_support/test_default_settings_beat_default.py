"""``install`` and the scheduler of beats: what the user says counts, wherever and whenever it is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery

import delayhub
from delayhub.celery_support.default_settings import SCHEDULER

OWN = "shop.beat:Own"
CELERYS = "celery.beat:PersistentScheduler"

WAYS: dict[str, Callable[[Celery], Any]] = {
    "attribute": lambda app: setattr(app.conf, "beat_scheduler", OWN),
    "update": lambda app: app.conf.update(beat_scheduler=OWN),
    "dictionary": lambda app: app.config_from_object({"beat_scheduler": OWN}),
    "object": lambda app: app.config_from_object(SimpleNamespace(beat_scheduler=OWN)),
    "old name": lambda app: app.config_from_object({"CELERYBEAT_SCHEDULER": OWN}),
    "namespace": lambda app: app.config_from_object(SimpleNamespace(CELERY_BEAT_SCHEDULER=OWN), namespace="CELERY"),
    "defaults": lambda app: app.add_defaults({"beat_scheduler": OWN}),
}


@pytest.fixture
def make() -> Iterator[Callable[..., Celery]]:
    made: list[Celery] = []

    def new(broker: str = "delayhub://127.0.0.1:1/0") -> Celery:
        made.append(Celery("shop", broker=broker, set_as_current=False))
        return made[-1]

    yield new
    for app in made:
        app.close()


def test_an_app_that_names_no_scheduler_gets_ours(make: Callable[..., Celery]) -> None:
    assert delayhub.install(make()).conf.beat_scheduler == SCHEDULER


def test_an_app_that_has_its_settings_already_gets_ours_too(make: Callable[..., Celery]) -> None:
    app = make()
    assert app.conf.beat_scheduler == CELERYS

    delayhub.install(delayhub.install(app))

    assert app.conf.beat_scheduler == SCHEDULER


def test_an_app_on_another_broker_keeps_celerys(make: Callable[..., Celery]) -> None:
    assert delayhub.install(make("redis://127.0.0.1:1/0")).conf.beat_scheduler == CELERYS


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_before", [True, False], ids=["before", "after"])
def test_what_the_user_says_counts(way: str, is_before: bool, make: Callable[..., Celery]) -> None:
    app = make()

    for step in (WAYS[way], delayhub.install)[:: 1 if is_before else -1]:
        step(app)

    assert app.conf.beat_scheduler == OWN
