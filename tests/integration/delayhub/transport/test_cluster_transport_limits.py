"""Tasks with limits on a cluster: their messages go to free processes only, whatever other queues and slots claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue

from delayhub.engine.limits import DECLARED, AtOnce, set_limits
from tests.cluster import LocalCluster
from tests.consuming import drain
from tests.integration.delayhub.transport.publishing import publish

LIMITED, OTHER = Queue("limited", routing_key="limited"), Queue("other", routing_key="other")


@pytest.fixture
def connection(cluster: LocalCluster) -> Iterator[Any]:
    """A connection to a cluster with two queues, one of which has a task with a limit."""
    with Connection(cluster.url) as connection:
        for queue in (LIMITED, OTHER):
            queue(connection.default_channel).declare()
        set_limits(connection.default_channel.queue("limited"), DECLARED, {"shop.mail": AtOnce(1)})
        yield connection


def test_limits_of_a_queue_that_is_cancelled_amid_a_claim_hold_no_other_queue_back(connection: Any) -> None:
    channel = connection.channel()
    publish(connection, [1], queue="limited", task="shop.mail")
    held: list[Any] = []
    with Consumer(channel, [LIMITED, OTHER], on_message=held.append) as consumer:
        drain(connection, until=lambda: len(held) == 1)
        assert channel.consumer.buffer.limiting
        lane = channel.consumer.lanes["limited"]
        drain(connection, until=lambda: not lane.claims.sent)
        lane.wanted = True
        lane.turn()

        consumer.cancel_by_queue("limited")
        assert lane.claims.sent
        channel.consumer.take_turn()

        assert "limited" not in channel.consumer.lanes
        assert not channel.consumer.buffer.limiting
