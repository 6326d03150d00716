"""The engine's view of what the transport stores."""

from __future__ import annotations

import pytest
import redis

from delayhub.engine import DelayQueue
from tests.fixture_types import Stored


@pytest.fixture
def stored(redis_client: redis.Redis) -> Stored:
    """The engine's own view of a queue."""
    return lambda name: DelayQueue(redis_client, name)
