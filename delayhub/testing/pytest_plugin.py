"""A pytest plug-in: ``pytest_plugins = ["delayhub.testing.pytest_plugin"]`` in the conftest.py of your project.

Every test then runs without timers, unless it has the marker ``delayhub_timers``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from delayhub.testing.jobs import without_timers


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", "delayhub_timers: jobs of this test set timers in the Redis of its settings")


@pytest.fixture(autouse=True)
def delayhub_without_timers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keeps the timers of a test out of Redis."""
    if request.node.get_closest_marker("delayhub_timers"):
        yield
        return
    with without_timers():
        yield
