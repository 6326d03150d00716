"""What every test may ask for: a private Redis server for each test process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from delayhub.standalone.redis_server import RedisServer


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis server of this test process alone."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    """A client that does not decode replies, of a server that holds nothing."""
    redis_server.check()
    with redis_server.client() as client:
        client.flushall()
        yield client
