"""``install(app)``: what a Celery app gains, and what the transport asks it from then on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from celery.app.control import Control as CeleryControl
from celery.worker import state
from kombu import Connection

import delayhub
from delayhub.celery_support.control import Control
from delayhub.celery_support.install import install, is_installed, running_tags
from delayhub.errors import OptionError
from delayhub.transport.hooks import Hooks, hooks_of
from delayhub.transport.transport import Transport


class Shouting(CeleryControl):
    """A control class of an app's own."""

    def shout(self) -> str:
        return "here"

    def revoke(self, task_id: Any, **options: Any) -> Any:
        return ["shouted", task_id, options]


class Counting(CeleryControl):
    """One that has a method named like one of ours."""

    def counts(self) -> int:
        return 7


@pytest.fixture
def app() -> Iterator[Celery]:
    made = Celery("shop", broker="delayhub://127.0.0.1:1/0", set_as_current=False)
    yield made
    made.close()


def hooks(app: Celery) -> Hooks:
    """The hooks that connections of the app find."""
    return hooks_of(app.connection_for_write().transport_options)


def test_tracing_libraries_may_be_set_up_after_it() -> None:
    # These modules keep what they import, so what is replaced later has to be replaced before they are imported.
    late = {"billiard.pool", "celery.beat", "celery.concurrency.prefork", "celery.worker.consumer.consumer"}
    code = f"import celery, delayhub, sys; delayhub.install(celery.Celery()); print({late} & sys.modules.keys())"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"


def test_it_gives_the_same_app_back() -> None:
    made = Celery("shop", set_as_current=False)

    assert delayhub.install(made) is made
    made.close()


def test_the_schemes_are_known_and_the_control_is_ours_even_if_it_was_used_before(app: Celery) -> None:
    assert type(app.control) is not Control

    install(app)

    assert type(app.control) is Control
    assert Connection("delayhub://").get_transport_cls() is Transport


def test_a_control_class_of_the_apps_own_stays(app: Celery) -> None:
    for own in (Shouting, f"{__name__}:Shouting"):
        app.control_cls = own

        install(install(app))

        control: Any = app.control
        assert isinstance(control, Control)
        assert isinstance(control, Shouting)
        assert control.shout() == "here"
        assert control.revoke("t", terminate=True) == ["shouted", "t", {"terminate": True}]


def test_a_control_class_with_a_method_that_we_have_too_is_refused(app: Celery) -> None:
    app.control_cls = Counting

    with pytest.raises(OptionError, match="Counting and DelayHub's both have counts: rename the app's"):
        install(app)


@pytest.mark.parametrize(("retries", "longest"), [(None, 2), (100, None)])
def test_an_app_that_never_gives_up_tries_every_two_seconds(
    app: Celery, monkeypatch: pytest.MonkeyPatch, retries: int | None, longest: int | None
) -> None:
    given: list[Any] = []
    monkeypatch.setattr(Connection, "ensure_connection", lambda _, **options: given.append(options.get("interval_max")))
    install(app)
    app.conf.broker_connection_max_retries = retries

    app.connection_for_read().ensure_connection()

    assert given == [longest]


def test_a_worker_checks_its_broker_and_makes_our_requests(app: Celery) -> None:
    install(app)
    install(app)  # twice does no harm

    ours = {"StartupChecks", "MakeOurRequests", "EndCold", "ShareLimits", "BuryUnreadable", "FreezeModules"}
    assert {step.__name__ for step in app.steps["consumer"]} == ours


def test_a_revoked_message_is_revoked_in_the_worker_that_gets_it(app: Celery) -> None:
    install(app)

    hooks(app).on_revoked("task-1")

    assert "task-1" in state.revoked
    state.revoked.discard("task-1")


def test_what_an_app_says_of_its_connections_can_be_sent_as_json(app: Celery) -> None:
    install(app)

    assert json.loads(json.dumps(app.connection_for_write().info()["transport_options"]))


def test_connections_to_other_brokers_are_left_alone(app: Celery) -> None:
    install(app)

    assert app.connection_for_write("memory://").transport_options == {}


@pytest.mark.parametrize(
    ("should_terminate", "tags"),
    [
        (None, {"7"}),
        # a warm shutdown lets tasks end; False is its exit code 0
        (False, {"7"}),
        # at a cold one they are about to be killed
        (True, set()),
        (15, set()),
    ],
)
def test_what_runs_outlives_its_connection_unless_it_is_about_to_be_killed(
    should_terminate: Any, tags: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = SimpleNamespace(message=SimpleNamespace(delivery_tag="7"))
    monkeypatch.setattr(state, "active_requests", [request])
    monkeypatch.setattr(state, "should_terminate", should_terminate)

    assert running_tags() == tags


def test_an_app_says_whether_it_was_installed_in(app: Celery) -> None:
    assert not is_installed(app)

    install(app)

    assert is_installed(app)
