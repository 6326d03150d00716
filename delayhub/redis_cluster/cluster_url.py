"""``delayhub-cluster://a:6379;delayhub-cluster://b:6379``: the pool that it means, without kombu."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from redis.connection import Connection, SSLConnection, parse_url

from delayhub.errors import OptionError
from delayhub.redis_cluster.cluster_map import Address
from delayhub.redis_cluster.cluster_pool import ClusterPool

#: The schemes, and what redis-py calls the same for one server.
SCHEMES = {"delayhub-cluster": "redis", "delayhub-clusters": "rediss"}

#: The key whose node has kombu's exchanges and pub/sub, and answers commands without a key.
HOME = "{delayhub-kombu}"

ONLY_DATABASE = "a Redis Cluster has only database 0: end its URLs without a number, or with /0"


def is_cluster_url(url: str) -> bool:
    """Whether a URL names a cluster."""
    return url.partition("://")[0] in SCHEMES


def cluster_pool(url: str, *, timeout_seconds: float) -> ClusterPool:
    """A pool of connections to the cluster; nothing is connected yet. A call is tried once, and refusals for so long.

    Raises:
        OptionError: the URL does not name nodes of one cluster. The message does not repeat it: it may hold a password.
    """
    known: dict[str, Any] = {}
    seeds: list[Address] = []
    for part in url.split(";"):
        scheme, separator, rest = part.partition("://")
        if not separator or scheme not in SCHEMES:
            raise OptionError(
                "each node of a cluster has its scheme: delayhub-cluster://a:6379;delayhub-cluster://b:6379"
            )
        found = _parsed(f"{SCHEMES[scheme]}://{rest}")
        if int(found.pop("db", 0) or 0):
            raise OptionError(ONLY_DATABASE)
        seeds.append(Address(found.pop("host", "127.0.0.1"), found.pop("port", 6379)))
        known = {**found, **known}
    require_hosts(seed.host for seed in seeds)
    known.pop("connection_class", None)
    limits = {"socket_timeout": timeout_seconds, "socket_connect_timeout": timeout_seconds, "protocol": 2}
    return ClusterPool(
        seeds=seeds,
        home=HOME,
        patience=timeout_seconds,
        resends=False,
        connection_class=SSLConnection if url.startswith("delayhub-clusters:") else Connection,
        **{**known, **limits},
    )


def require_hosts(hosts: Iterable[str]) -> None:
    """Raises OptionError where a host's name has a comma: nodes are separated by semicolons."""
    if any("," in host for host in hosts):
        raise OptionError("the nodes of a cluster are separated by semicolons, each with its scheme")


def _parsed(url: str) -> dict[str, Any]:
    try:
        return dict(parse_url(url))  # type: ignore[no-untyped-call]  # redis-py has no types here
    except ValueError as error:
        hint = "nodes are separated by semicolons, each with its scheme" if "," in url else str(error)
        raise OptionError(f"the URL of the cluster cannot be read: {hint}") from None
