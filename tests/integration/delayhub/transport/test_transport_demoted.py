"""A server that is made a replica keeps its connections; who has one goes to the server that has its address now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Queue

from delayhub.engine import Counts, DelayQueue, Entry
from delayhub.local.redis_server import RedisServer, free_port
from delayhub.redis_cluster import client_of
from delayhub.transport import register
from delayhub.transport.broker_pool import broker_pool
from tests.consuming import drain
from tests.integration.delayhub.transport.publishing import publish
from tests.tcp_proxy import TcpProxy
from tests.waiting import wait_until

register()


#: Redis waits for more replicas otherwise before it begins with the first one.
AT_ONCE = {"repl-diskless-sync-delay": 0}


def replica_of(server: RedisServer) -> dict[str, str]:
    """What makes a server the replica of that one."""
    return {"replicaof": f"127.0.0.1 {server.port}"}


class Address:
    """An address of a master, which another server has as soon as that is the master."""

    def __init__(self, proxy: TcpProxy, first: RedisServer, second: RedisServer) -> None:
        self.proxy, self.first, self.second = proxy, first, second
        self.url = f"delayhub://127.0.0.1:{proxy.port}/0"

    def fail_over(self) -> None:
        """The second server is the master now, and the first a replica; of no server, so that it loads nothing."""
        with self.first.client() as client, self.second.client() as other:
            other.replicaof("NO", "ONE")
            client.replicaof("127.0.0.1", free_port())
        self.proxy.target = self.second.port


@pytest.fixture
def address() -> Iterator[Address]:
    with RedisServer(config=AT_ONCE) as first, RedisServer(config=AT_ONCE | replica_of(first)) as second:
        with TcpProxy(first.port) as proxy, second.client() as client:
            wait_until(lambda: client.info("replication")["master_link_status"] == "up")
            yield Address(proxy, first, second)


def test_a_pool_that_was_connected_to_the_old_master_connects_to_the_new_one(address: Address) -> None:
    with Connection(address.url) as connection:
        queue = DelayQueue(client_of(broker_pool(connection, timeout_seconds=5)), "q")
        queue.schedule([Entry("before")])
        with address.second.client() as client:
            wait_until(lambda: DelayQueue(client, "q").count().ready == 1)
        address.fail_over()

        with pytest.raises(redis.ConnectionError, match="replica"):
            queue.schedule([Entry("lost")])
        queue.schedule([Entry("after")])
        queue.client.connection_pool.disconnect()

    with address.second.client() as client:
        assert DelayQueue(client, "q").count() == Counts(0, 2, 0, 0)


def test_a_consumer_that_knows_of_more_hears_that_its_connection_is_of_no_use(address: Address) -> None:
    got: list[Any] = []
    with Connection(address.url) as connection, connection.channel() as channel:
        channel.basic_qos(0, 1, False)
        with Consumer(channel, [Queue("q")], on_message=got.append):
            for body in ("first", "second", "third"):
                publish(connection, body)
            drain(connection, until=lambda: len(got) == 1)
            got[0].ack()
            drain(connection, until=lambda: len(got) == 2)
            address.fail_over()
            got[1].ack()

            with pytest.raises(connection.connection_errors, match="replica"):
                drain(connection, until=lambda: False, within_seconds=5)


def test_a_lease_is_renewed_and_ended_on_the_new_master(address: Address) -> None:
    with Connection(address.url) as connection, connection.channel() as channel:
        publish(connection, "held")
        message = channel.basic_get("q")
        channel.book.keep()
        with address.second.client() as client:
            wait_until(lambda: DelayQueue(client, "q").count() == Counts(0, 0, 1, 0))
        address.fail_over()

        with pytest.raises(redis.ConnectionError, match="replica"):
            channel.book.keep()
        channel.book.keep()
        message.ack()
        channel.book.flush()

    with address.second.client() as client:
        assert DelayQueue(client, "q").count() == Counts(0, 0, 0, 0)
