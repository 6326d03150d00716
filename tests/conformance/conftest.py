"""An empty broker of each transport that the suite runs over."""

from __future__ import annotations

from uuid import uuid4

import pytest

from delayhub.local.redis_server import RedisServer
from tests.cluster import LocalCluster


@pytest.fixture(params=["memory", "redis", "delayhub", "delayhub-cluster"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def broker(scheme: str, request: pytest.FixtureRequest) -> str:
    """The URL of an empty broker."""
    if scheme == "memory":
        return "memory://"
    if scheme == "delayhub-cluster":
        cluster: LocalCluster = request.getfixturevalue("cluster")
        return cluster.url
    server: RedisServer = request.getfixturevalue("redis_server")
    with server.client() as client:
        client.flushall()
    return server.url.replace("redis://", f"{scheme}://")


@pytest.fixture
def name() -> str:
    """A queue of only this test: memory:// keeps its queues for the whole process."""
    return f"queue-{uuid4().hex[:8]}"
