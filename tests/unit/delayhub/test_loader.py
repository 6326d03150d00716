"""``CELERY_LOADER``: an app is installed without a change of its code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from celery.app.control import Control as CeleryControl
from celery.loaders.app import AppLoader

from delayhub.celery_support.control import Control
from delayhub.celery_support.install import is_installed
from delayhub.loader import Loader


class OwnLoader(AppLoader):
    """A loader that a project has for its class of apps."""


class OwnControl(CeleryControl):
    """A control class that a project has."""


class OwnCelery(Celery):
    loader_cls = OwnLoader


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("CELERY_LOADER", "delayhub.loader:Loader")
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE")  # with it, Celery uses the loader already when it makes an app
    made: list[Celery] = []

    def make(kind: type[Celery] = Celery, **options: Any) -> Celery:
        made.append(kind("shop", broker="delayhub://127.0.0.1:1/0", set_as_current=False, **options))
        return made[-1]

    yield make
    for app in made:
        app.close()


def test_an_app_that_is_made_under_the_variable_is_installed(make: Any) -> None:
    app = make()

    assert app.connection_for_write().get_transport_cls().__module__ == "delayhub.transport.transport"
    assert isinstance(app.loader, Loader)
    assert is_installed(app)


def test_the_first_use_of_an_app_may_be_its_control(make: Any) -> None:
    app = make()

    control = app.control  # its making is what loads the loader

    assert isinstance(control, Control)
    assert app.control is control
    assert control.app is app


def test_a_control_class_of_the_apps_own_stays_also_where_it_is_used_first(make: Any) -> None:
    app = make(control=OwnControl)

    control = app.control

    assert isinstance(control, Control)
    assert isinstance(control, OwnControl)


def test_a_control_from_before_the_loader_is_forgotten(make: Any) -> None:
    app = make()
    app.__dict__["control"] = CeleryControl.__new__(CeleryControl)

    assert app.conf.task_acks_late is False

    assert isinstance(app.control, Control)


def test_the_loader_of_the_apps_class_does_its_work(make: Any) -> None:
    app = make(OwnCelery)

    assert isinstance(app.loader, OwnLoader)
    assert is_installed(app)
