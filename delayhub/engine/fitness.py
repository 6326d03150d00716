"""Whether a Redis server can be trusted with timers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import redis

from delayhub.errors import RedisUnfit

#: The oldest version whose commands the scripts use.
OLDEST = (6, 2)


@dataclass(frozen=True, slots=True)
class Fitness:
    """What is wrong with a server.

    ``server``: its name and version, ``Redis 7.0.15``, ``Valkey 9.1.2``, or ``Redis`` where it does not say.
    ``faults``: it loses timers or cannot run our scripts. ``warnings``: it may lose them in an accident.
    """

    server: str
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def require(self) -> None:
        """Raises RedisUnfit where there are faults."""
        if self.faults:
            raise RedisUnfit(self.faults)


def examine(client: redis.Redis) -> Fitness:
    """What is wrong with the server, as far as its user may look: managed servers hide CONFIG."""
    try:
        info: dict[str, Any] = client.info("everything")
    except redis.ResponseError:  # ACLs count INFO among the dangerous commands
        return Fitness("Redis", warnings=("its user may not call INFO, so nothing could be checked: +info",))
    server = server_in(info)
    version = str(info.get("redis_version", "0"))
    policy = info.get("maxmemory_policy", "noeviction")
    faults, warnings = [], []
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        faults.append(f"it is {server}, and Redis 6.2 is the oldest that will do")
    if policy != "noeviction":
        faults.append(f"maxmemory-policy is {policy}, which throws tasks away when memory is full: set noeviction")
    if info.get("role") == "slave":
        faults.append("it is a replica, which takes no writes: name the master, or its sentinels")
    if not info.get("aof_enabled"):
        saves = save_points(client)
        if saves == "":
            warnings.append("it keeps nothing on disk, so a restart loses every task: set appendonly yes")
        elif saves:
            warnings.append("it has snapshots but no append-only file: an accident loses the tasks since the last one")
    return Fitness(server, tuple(faults), tuple(warnings))


def server_in(info: Mapping[str, Any]) -> str:
    """The name and version of the server that gave this INFO.

    Valkey calls itself Redis 7.2.4 in ``redis_version``, whose commands it has, and has its own in ``valkey_version``.
    """
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return f"Redis {info['redis_version']}" if "redis_version" in info else "Redis"


def save_points(client: redis.Redis) -> str | None:
    """When the server takes snapshots (``"3600 1"``); empty for never, None where its user may not ask."""
    try:
        answer: Any = client.config_get("save")
    except redis.ResponseError:
        return None
    found = answer.get("save", answer.get(b"save"))
    return found.decode() if isinstance(found, bytes) else found
