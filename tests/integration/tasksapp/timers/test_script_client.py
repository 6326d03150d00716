"""The short way to Redis: no reply is taken for another's, and a connection that broke is made anew."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from delayhub.local.redis_server import RedisServer
from tasksapp.timers.script_client import BriskRedis

ECHO = "return ARGV[1]"


@pytest.fixture
def brisk(redis_server: RedisServer) -> Iterator[BriskRedis]:
    with BriskRedis.from_url(
        redis_server.url, socket_timeout=5.0, retry=Retry(NoBackoff(), retries=0), protocol=2
    ) as client:
        yield client
        for connection in client._idle:
            connection.disconnect()


def echo(client: BriskRedis, word: str) -> str:
    """What the server gives back."""
    reply: bytes = client.execute_command("EVAL", ECHO, 0, word)
    return reply.decode()


def test_a_connection_is_used_again_also_after_an_error_reply(brisk: BriskRedis) -> None:
    assert echo(brisk, "one") == "one"
    (connection,) = brisk._idle
    with pytest.raises(redis.ResponseError):
        brisk.execute_command("EVALSHA", "0" * 40, 0)

    assert echo(brisk, "two") == "two"
    assert brisk._idle == [connection]


def test_a_connection_that_the_server_closed_is_made_anew_without_a_failure(
    brisk: BriskRedis, redis_client: redis.Redis
) -> None:
    echo(brisk, "one")
    redis_client.client_kill_filter(skipme=True, _type="normal")

    assert echo(brisk, "two") == "two"


def test_the_reply_that_came_too_late_is_nobody_elses(brisk: BriskRedis, redis_client: redis.Redis) -> None:
    brisk.connection_pool.connection_kwargs["socket_timeout"] = 0.05
    redis_client.client_pause(300)
    with pytest.raises(redis.TimeoutError):
        echo(brisk, "late")
    redis_client.client_unpause()

    brisk.connection_pool.connection_kwargs["socket_timeout"] = 5.0
    assert echo(brisk, "two") == "two"


def test_threads_do_not_hear_each_other(brisk: BriskRedis) -> None:
    words = [f"word {number}" for number in range(300)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda word: echo(brisk, word), words)) == words
    assert 1 <= len(brisk._idle) <= 8


def test_a_forked_child_leaves_its_parents_connections_alone(brisk: BriskRedis) -> None:
    echo(brisk, "parent")
    (inherited,) = brisk._idle
    heard, say = os.pipe()

    child = os.fork()
    if child == 0:
        try:
            os.write(say, f"{echo(brisk, 'child')} {inherited in brisk._idle}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(say)

    with os.fdopen(heard) as told:
        assert told.read() == "child False"
    assert echo(brisk, "parent again") == "parent again"
    assert brisk._idle == [inherited]
