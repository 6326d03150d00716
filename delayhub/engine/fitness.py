"""Whether a Redis server can be trusted with timers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import redis

from delayhub.errors import RedisUnfit
from delayhub.redis_cluster import ClusterClient, servers_of

#: The oldest version whose commands the scripts use.
OLDEST = (6, 2)


@dataclass(frozen=True, slots=True)
class Fitness:
    """What is wrong with a server.

    ``server``: its name and version, ``Redis 7.0.15``, ``Valkey 9.1.2``, or ``Redis`` where it does not say.
    ``faults``: it loses timers or cannot run our scripts. ``warnings``: it may lose them in an accident.
    ``is_replica``: it is one, which is among the faults.
    """

    server: str
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    is_replica: bool = False

    def require(self) -> None:
        """Raises RedisUnfit where there are faults."""
        if self.faults:
            raise RedisUnfit(self.faults)


def examine(client: redis.Redis) -> Fitness:
    """What is wrong with the server, or with any master of a cluster, as far as its user may look.

    Managed servers hide CONFIG.
    """
    if isinstance(client, ClusterClient):
        return _examine_cluster(client)
    return _examine(client, is_cluster=False)


def _examine_cluster(client: ClusterClient) -> Fitness:
    found = {address: _examine(server, is_cluster=True) for address, server in servers_of(client)}
    missing = client.connection_pool.map.missing_slots()
    faults = [f"{missing} slots have no master: the queues there stand still"] if missing else []
    return Fitness(
        f"{', '.join(sorted({each.server for each in found.values()}))}, a cluster of {len(found)} masters",
        (*faults, *(f"{address}: {fault}" for address, each in found.items() for fault in each.faults)),
        tuple(f"{address}: {warning}" for address, each in found.items() for warning in each.warnings),
    )


def _examine(client: redis.Redis, *, is_cluster: bool) -> Fitness:
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
    if info.get("cluster_enabled") and not is_cluster:
        faults.append("it is a node of a Redis Cluster, which has only some of the keys: write delayhub-cluster://")
    if is_cluster and not info.get("connected_slaves"):
        warnings.append("it has no replica: when it fails, its queues stand still until it is back")
    is_replica = info.get("role") == "slave"
    if is_replica:
        faults.append("it is a replica, which takes no writes: name the master, or its sentinels")
    if not info.get("aof_enabled"):
        saves = save_points(client)
        if saves == "":
            warnings.append("it keeps nothing on disk, so a restart loses every task: set appendonly yes")
        elif saves:
            warnings.append("it has snapshots but no append-only file: an accident loses the tasks since the last one")
    return Fitness(server, tuple(faults), tuple(warnings), is_replica)


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
