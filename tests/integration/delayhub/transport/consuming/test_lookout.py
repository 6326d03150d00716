"""Looking at many slots at once: what is found, and what a node that is away does to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Queue

from delayhub.engine import DelayQueue, Entry
from delayhub.local.redis_server import RedisServer, free_port
from delayhub.redis_cluster import Address
from delayhub.transport.consuming import lookout
from delayhub.transport.consuming.lane_consumer import LaneConsumer
from delayhub.transport.consuming.lookout import NodeView, is_due, reads
from tests.cluster import LocalCluster
from tests.consuming import drain, keep_payloads
from tests.integration.delayhub.transport.publishing import publish
from tests.redis_time import redis_now_ms

Deed = Callable[[DelayQueue, int], object]


def put(queue: DelayQueue, due_ms: int) -> None:
    queue.schedule([Entry(id="a", due_ms=due_ms, payload=b"x")])


def lease(queue: DelayQueue, lease_ms: int) -> None:
    put(queue, 0)
    queue.claim(1, lease_ms=lease_ms)


@pytest.mark.parametrize(
    ("deed", "finds"),
    [
        pytest.param(lambda queue, now: None, False, id="nothing"),
        pytest.param(lambda queue, now: put(queue, 0), True, id="ready"),
        pytest.param(lambda queue, now: put(queue, now + 60_000), False, id="waits"),
        pytest.param(lambda queue, now: lease(queue, 60_000), False, id="leased"),
        pytest.param(lambda queue, now: lease(queue, -1), True, id="a lease that ran out"),
    ],
)
def test_a_look_finds_what_a_claim_would(
    redis_server: RedisServer, redis_client: redis.Redis, deed: Deed, finds: bool
) -> None:
    queue = DelayQueue(redis_client, "q")
    deed(queue, int(redis_now_ms(redis_client)))

    with redis_server.client(protocol=2) as client:
        answers = [client.execute_command(*command) for command in reads("q", "")]

    assert is_due(answers, int(redis_now_ms(redis_client))) is finds


def test_what_is_in_a_slot_whose_bell_was_lost_is_found_by_a_look(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LaneConsumer, "_listen", lambda *_: None)
    monkeypatch.setattr(lookout, "LOOK_SECONDS", 0.05)
    queue = Queue("q", routing_key="q", queue_arguments={"x-delayhub-slots": 16})
    got: list[Any] = []
    with Connection(cluster.url) as connection:
        channel = connection.channel()
        with Consumer(channel, [queue], on_message=keep_payloads(got)):
            lanes = channel.consumer.lanes.values
            drain(connection, until=lambda: len(lanes()) == 16 and not any(lane.claims.sent for lane in lanes()))
            for lane in lanes():
                lane.next_claim_at = float("inf")

            for number in range(20):
                publish(connection, number, id=f"task-{number}")
            drain(connection, until=lambda: len(got) == 20)

    assert sorted(got) == list(range(20))


def test_a_node_that_is_away_is_left_out_for_a_while(cluster: LocalCluster) -> None:
    with Connection(cluster.url) as connection, connection.channel() as channel:
        with Consumer(channel, [Queue("q")], on_message=lambda _: None):
            drain(connection, until=lambda: channel.consumer is not None)
            view = NodeView(channel.consumer.lookout, Address("127.0.0.1", free_port()))

            view.guarded(lambda: view.ask(["q"], 0.0))
            view.guarded(lambda: view.ask(["q"], 1.0))

    assert not view.wire.sent
    assert view.wire.connection is None
