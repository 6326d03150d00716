"""What tests of histories of jobs may ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from delayhub.local.redis_server import RedisServer
from proof.jobs.site import Site, site
from proof.quick_redis import QuickRedis


@pytest.fixture
def here(redis_server: RedisServer, redis_client: redis.Redis, transactional_db: None) -> Iterator[Site]:
    """A site on the tests' database and their Redis."""
    with QuickRedis(redis_server.port) as client, site(client, redis_server.url) as made:
        yield made
