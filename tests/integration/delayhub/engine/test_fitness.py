"""What is said of the server that these tests run on."""

from __future__ import annotations

import redis

from delayhub.engine.fitness import examine
from delayhub.local.redis_server import RedisServer
from delayhub.local.server_program import redis_version


def test_a_private_server_has_no_faults_and_is_called_by_name(
    redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    fitness = examine(redis_client)

    name, version = fitness.server.split()
    assert fitness.faults == ()
    assert name in ("Redis", "Valkey")
    assert tuple(map(int, version.split("."))) == redis_version(redis_server.program)


def test_a_replica_is_at_fault() -> None:
    with RedisServer(config={"replicaof": "127.0.0.1 1"}) as replica, replica.client() as client:
        assert "it is a replica" in examine(client).faults[0]
