"""The plug-in: no test sets a timer, but those that say so. docs/testing.md runs it in a project."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import redis

from delayhub.testing import pytest_plugin
from tasksapp.timers.lanes import client


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
