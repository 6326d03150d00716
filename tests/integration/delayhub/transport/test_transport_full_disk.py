"""A Redis whose disk is full takes no writes, and refuses pings too; who consumes waits until that is over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Exchange, Queue

from delayhub.local.redis_server import RedisServer
from tests.consuming import drain, keep_payloads
from tests.integration.delayhub.transport.publishing import publish
from tests.waiting import wait_until

#: So that connections are looked at while a test goes on.
LOOKING = {"health_check_interval": 1}


@contextmanager
def full_disk(server: RedisServer, client: redis.Redis) -> Iterator[None]:
    """A folder stands where Redis would save its snapshot, so that it cannot, and says so to all who write."""
    snapshot = server.data_dir / "dump.rdb"
    snapshot.unlink(missing_ok=True)  # of a replication: Redis 6.2 saves before it sends
    snapshot.mkdir()
    client.config_set("save", "3600 1000000")
    client.bgsave()
    wait_until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")
    try:
        yield
    finally:
        client.config_set("save", "")
        snapshot.rmdir()
        client.bgsave()
        wait_until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "ok")
        snapshot.unlink()


def test_a_consumer_waits_until_redis_takes_writes_again(
    broker: str, redis_server: RedisServer, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    got: list[Any] = []
    fanout = Queue("all", Exchange("all", type="fanout"))
    with Connection(broker, transport_options=LOOKING) as connection, connection.channel() as channel:
        channel._start_consumer().bell.seconds = 0.1
        with Consumer(channel, [Queue("q"), fanout], on_message=keep_payloads(got)):
            publish(connection, "before")
            drain(connection, until=lambda: got == ["before"])

            with full_disk(redis_server, redis_client):
                # It listens only if its last claim, from before, found nothing.
                drain(connection, until=lambda: "refused to wake" in caplog.text or "refused a claim" in caplog.text)
                channel.subclient.next_health_check = 0
                channel.subclient.connection.next_health_check = 0
                connection.transport.cycle.maybe_check_subclient_health()
                drain(connection, until=lambda: caplog.text.count("refused a claim") >= 2)
            publish(connection, "after")
            drain(connection, until=lambda: got == ["before", "after"])

    assert channel.subclient.health_check_response_counter <= 0, "its ping was answered"


def test_a_declaration_is_to_be_tried_again_as_after_a_lost_connection(
    broker: str, redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    with Connection(broker) as connection, connection.channel() as channel:
        Exchange("direct")(channel).declare()
        with full_disk(redis_server, redis_client):
            with pytest.raises(connection.connection_errors, match="takes no writes"):
                Queue("q")(channel).queue_declare()
            with pytest.raises(connection.connection_errors, match="takes no writes"):
                Queue("q", Exchange("direct"))(channel).queue_bind()
        Queue("q", Exchange("direct"))(channel).declare()
