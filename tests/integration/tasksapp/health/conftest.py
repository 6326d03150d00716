"""Probes are asked on the test's own connection."""

from __future__ import annotations

import pytest

from tasksapp.health.readiness import readiness
from tests.inline_thread import InlineThread


@pytest.fixture(autouse=True)
def _on_the_connection_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_thread", InlineThread())
