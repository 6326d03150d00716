"""What tests of models may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from delayhub.local.redis_server import RedisServer
from proof.model.checking import MISSING, is_there
from proof.model.handovers import HandoverPlayer
from proof.model.leases import LeasePlayer
from proof.model.resolves import ResolvePlayer
from proof.model.rows import CODE
from proof.model.traces import Player
from proof.virtual_time import virtual_time
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.models import BizType
from tasksapp.stats.pulse_recorder import pulse_recorder
from tasksapp.timers import lanes

PLAYERS: dict[str, Callable[[redis.Redis], Player]] = {
    "handover": HandoverPlayer,
    "lease": LeasePlayer,
    "resolve": ResolvePlayer,
}


@pytest.fixture(autouse=True)
def needs_spin() -> None:
    """Leaves out what needs SPIN, where there is none."""
    if not is_there():
        pytest.skip(f"cannot run here: {MISSING}")


@pytest.fixture
def new_player(
    settings: Any, redis_server: RedisServer, redis_client: redis.Redis, transactional_db: None
) -> Iterator[Callable[[str], Player]]:
    """Makes the player of a model, with a job or a message of its own."""
    settings.DELAYHUB = {"REDIS_URL": redis_server.url, "ARM_TIMEOUT_SECONDS": 5.0}
    lanes.try_again()
    biz_type_cache.clear()
    BizType.objects.create(code=CODE, url="https://shop.example/hooks")
    with virtual_time():
        yield lambda model: PLAYERS[model](redis_client)
    pulse_recorder.forget()
    lanes.try_again()
