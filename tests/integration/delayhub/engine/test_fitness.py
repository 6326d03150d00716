"""What is said against a Redis server that would lose timers, and what is not held against it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis

from delayhub.engine import fitness
from delayhub.engine.fitness import Fitness, examine, server_in
from delayhub.errors import RedisUnfit
from delayhub.local.redis_server import RedisServer, redis_version


@contextmanager
def configured(client: redis.Redis, **values: str) -> Iterator[None]:
    """While it is open, the server has these settings; names have underscores for dashes."""
    names = {name.replace("_", "-"): value for name, value in values.items()}
    before = {name: client.config_get(name)[name] for name in names}
    for name, value in names.items():
        client.config_set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            client.config_set(name, value)


def test_a_private_server_has_no_faults_and_is_called_by_name(
    redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    fitness = examine(redis_client)

    name, version = fitness.server.split()
    assert fitness.faults == ()
    assert name in ("Redis", "Valkey")
    assert tuple(map(int, version.split("."))) == redis_version(redis_server.program)


def test_a_server_that_keeps_an_append_only_file_is_fit(redis_client: redis.Redis) -> None:
    with configured(redis_client, appendonly="yes"):
        found = examine(redis_client)

    assert (found.faults, found.warnings) == ((), ())
    found.require()


def test_a_server_that_keeps_nothing_or_only_snapshots_is_warned_of(redis_client: redis.Redis) -> None:
    (nothing,) = examine(redis_client).warnings
    with configured(redis_client, save="3600 1"):
        (snapshots,) = examine(redis_client).warnings

    assert "keeps nothing on disk" in nothing
    assert "no append-only file" in snapshots


def test_a_server_that_evicts_is_refused(redis_client: redis.Redis) -> None:
    with configured(redis_client, maxmemory_policy="allkeys-lru"):
        found = examine(redis_client)

    with pytest.raises(RedisUnfit, match="maxmemory-policy is allkeys-lru") as refused:
        found.require()
    assert refused.value.faults == found.faults


def test_a_server_that_is_too_old_is_refused(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitness, "OLDEST", (99, 0))

    (fault,) = examine(redis_client).faults

    assert fault.startswith(f"it is {server_in(redis_client.info('server'))}, and Redis")


def test_a_replica_is_refused(redis_server: RedisServer) -> None:
    with RedisServer() as follower, follower.client() as client:
        client.replicaof("127.0.0.1", redis_server.port)

        assert any("it is a replica" in fault for fault in examine(client).faults)


@pytest.mark.parametrize(
    ("hidden", "warnings"),
    [
        # managed servers hide CONFIG: what they hide is not held against them
        ("-config", ()),
        ("-info", ("its user may not call INFO, so nothing could be checked: +info",)),
    ],
)
def test_what_a_server_hides_is_not_held_against_it(
    hidden: str, warnings: tuple[str, ...], redis_client: redis.Redis, redis_server: RedisServer
) -> None:
    redis_client.acl_setuser("clerk", enabled=True, passwords=["+x"], keys=["*"], commands=["+@all", hidden])
    try:
        with redis_server.client(username="clerk", password="x") as clerk:
            found = examine(clerk)
    finally:
        redis_client.acl_deluser("clerk")

    assert found == Fitness(found.server, (), warnings)
