"""Behind Sentinel: the master is found, and found again when it has fallen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Consumer, Producer, Queue

from delayhub.engine import Counts, DelayQueue
from delayhub.transport import register
from tests.consuming import drain, keep_payloads
from tests.integration.delayhub.transport.sentinels import NAME, Sentinels
from tests.waiting import wait_until

register()


@pytest.mark.slow
def test_what_replicas_have_is_delivered_by_the_next_master(tmp_path: Path) -> None:
    got: list[Any] = []

    with Sentinels(tmp_path) as sentinels:
        # Replication is asynchronous; who publishes can wait for it.
        safe = {"master_name": NAME, "wait_replicas": 2, "wait_seconds": 5}
        with Connection(sentinels.url, transport_options=safe) as connection:
            for number in range(20):
                Producer(connection.channel()).publish(number, routing_key="q")

        sentinels.kill_the_master()

        with Connection(sentinels.url, transport_options={"master_name": NAME}) as connection:
            with connection.channel() as channel, Consumer(channel, [Queue("q")], on_message=keep_payloads(got)):
                drain(connection, until=lambda: len(got) == 20)
        with sentinels.client() as client:
            wait_until(lambda: DelayQueue(client, "q").count() == Counts(0, 0, 0, 0))

    assert got == list(range(20))
