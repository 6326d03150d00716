"""Publishing that waits for replicas: what too few have is an error, though it is stored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis
from kombu import Connection, Producer

from delayhub.engine import Counts
from delayhub.errors import NotReplicated
from delayhub.local.redis_server import RedisServer
from delayhub.transport.replication import ReplicatedClient
from tests.fixture_types import Stored
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def replica(redis_server: RedisServer) -> Iterator[RedisServer]:
    """A replica that has all that the server has."""
    redis_server.check()
    with RedisServer(config={"repl-diskless-sync-delay": 0}) as server, server.client() as client:
        client.replicaof("127.0.0.1", redis_server.port)
        wait_until(lambda: client.info("replication")["master_link_status"] == "up")
        yield server


@pytest.fixture
def pool(redis_client: redis.Redis, redis_server: RedisServer) -> Iterator[redis.ConnectionPool]:
    made = redis.ConnectionPool.from_url(redis_server.url)
    yield made
    made.disconnect()


def test_a_command_returns_once_a_replica_has_it(pool: redis.ConnectionPool, replica: RedisServer) -> None:
    client = ReplicatedClient(pool, replicas=1, milliseconds=10_000)

    assert client.set("name", "value")
    with replica.client() as reader:
        assert reader.get("name") == b"value"


def test_a_command_that_too_few_have_says_how_many_and_is_done(
    pool: redis.ConnectionPool, replica: RedisServer, redis_client: redis.Redis
) -> None:
    client = ReplicatedClient(pool, replicas=2, milliseconds=10)

    with pytest.raises(NotReplicated, match="1 of 2 replicas") as failed:
        client.set("name", "value")

    assert (failed.value.reached, failed.value.wanted) == (1, 2)
    assert redis_client.get("name") == b"value"


def test_an_error_of_the_command_itself_comes_first(pool: redis.ConnectionPool) -> None:
    client = ReplicatedClient(pool, replicas=9, milliseconds=1)

    with pytest.raises(redis.ResponseError, match="unknown command"):
        client.execute_command("NOTHING")


def test_a_publish_that_too_few_replicas_have_says_so_and_is_stored(broker: str, stored: Stored) -> None:
    lonely = Connection(broker, transport_options={"wait_replicas": 2, "wait_seconds": 0.05})

    with lonely, lonely.channel() as channel, pytest.raises(NotReplicated, match=r"[01] of 2 replicas"):
        Producer(channel).publish(None, routing_key="q", headers={"task": "t", "id": "t"})

    assert stored("q").count() == Counts(0, 1, 0, 0)


def test_a_publish_that_waits_longer_than_redis_may_be_silent_is_not_given_up(broker: str) -> None:
    patient = Connection(broker, transport_options={"wait_replicas": 2, "wait_seconds": 4})

    with patient, patient.channel() as channel, pytest.raises(NotReplicated, match=r"[01] of 2 replicas"):
        Producer(channel).publish(None, routing_key="q", headers={"task": "t", "id": "t"})
