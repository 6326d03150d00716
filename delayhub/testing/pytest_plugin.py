"""A pytest plug-in: pytest finds it by itself where DelayHub is installed.

Every test then runs without timers, unless it has the marker ``delayhub_timers``. The option
``-p no:delayhub.testing.pytest_plugin`` turns it off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from delayhub.testing.jobs import keeps_jobs, without_timers

if TYPE_CHECKING:  # they need a Redis client, which pytest need not load for every run
    from delayhub.local.redis_server import RedisServer
    from delayhub.testing.movable_clock import MovableClock


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", "delayhub_timers: jobs of this test set timers in the Redis of its settings")


@pytest.fixture(autouse=True)
def delayhub_without_timers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keeps the timers of a test out of Redis, where the project keeps jobs."""
    if request.node.get_closest_marker("delayhub_timers") or not keeps_jobs():
        yield
        return
    with without_timers():
        yield


@pytest.fixture(scope="session")
def delayhub_redis() -> Iterator[RedisServer]:
    """A private Redis server, which ends with the run."""
    from delayhub.local.redis_server import RedisServer  # noqa: PLC0415  see above

    with RedisServer() as server:
        yield server


@pytest.fixture
def delayhub_clock(delayhub_redis: RedisServer, settings: Any) -> Iterator[MovableClock]:
    """A clock that moves all that waits in the private server, which is empty and holds the timers of this test.

    Use it with the marker ``delayhub_timers``.
    """
    from delayhub.testing.movable_clock import MovableClock  # noqa: PLC0415  see above

    settings.DELAYHUB = {**getattr(settings, "DELAYHUB", {}), "REDIS_URL": delayhub_redis.url}
    with delayhub_redis.client() as client:
        client.flushall()
        yield MovableClock(client)
