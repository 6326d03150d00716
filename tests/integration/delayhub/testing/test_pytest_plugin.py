"""The plug-in: no test sets a timer, but those that say so. docs/jobs/testing.md runs it in a project."""

from __future__ import annotations

import tomllib
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from delayhub.testing import pytest_plugin
from tasksapp.timers.lanes import client
from tests.repository import ROOT


def test_its_marker_is_known(pytestconfig: pytest.Config) -> None:
    pytest_plugin.pytest_configure(pytestconfig)

    assert any(line.startswith("delayhub_timers:") for line in pytestconfig.getini("markers"))


@pytest.mark.parametrize("marked", [False, True])
def test_redis_is_kept_out_unless_the_test_is_marked(marked: bool, settings: Any, broker: str) -> None:
    settings.DELAYHUB = {"REDIS_URL": broker}
    request = SimpleNamespace(node=SimpleNamespace(get_closest_marker=lambda name: marked or None))
    fixture = pytest_plugin.delayhub_without_timers.__wrapped__(request)

    next(fixture)
    if marked:
        assert client().ping()
    else:
        with pytest.raises(redis.ConnectionError, match="a test keeps the timers' Redis out"):
            client().ping()
    assert next(fixture, None) is None
    assert client().ping()


def test_a_project_without_the_app_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("delayhub.testing.pytest_plugin.keeps_jobs", lambda: False)
    request = SimpleNamespace(node=SimpleNamespace(get_closest_marker=lambda name: None))
    fixture = pytest_plugin.delayhub_without_timers.__wrapped__(request)

    next(fixture)

    assert next(fixture, None) is None


def test_the_package_installs_it(pytestconfig: pytest.Config) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {pytest_plugin.__name__: pytest_plugin.__name__}
    assert pytestconfig.pluginmanager.is_blocked(pytest_plugin.__name__)
