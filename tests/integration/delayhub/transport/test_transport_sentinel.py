"""Behind Sentinel: the master is found, and found again when it has fallen."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Consumer, Exchange, Producer, Queue

from delayhub.engine import Counts, DelayQueue
from delayhub.transport import register
from tests.celery_versions import needs_newest
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


@pytest.mark.slow
@needs_newest
def test_options_of_sentinels_mean_what_they_mean_to_kombu(tmp_path: Path) -> None:
    given = {"master_name": NAME, "min_other_sentinels": 1, "sentinel_kwargs": {"client_name": "shop"}}

    def look(url: str, **options: Any) -> tuple[Any, ...]:
        with Connection(url, transport_options={**given, **options}) as connection, sentinels.client() as client:
            channel = connection.default_channel
            manager = channel.pool.sentinel_manager
            with client.pubsub() as heard:  # type: ignore[no-untyped-call]  # of redis-py
                heard.psubscribe("*")
                assert heard.get_message(timeout=5)["type"] == "psubscribe"  # so that it is in force
                Exchange("news", type="fanout")(channel).declare()
                Producer(channel).publish("story", exchange="news")
                client.publish("end", "")
                channels = (one["channel"] for one in iter(lambda: heard.get_message(timeout=5), None))
                topics = sorted(topic for topic in takewhile(lambda one: one != b"end", channels) if b"news" in topic)
            names = {one.connection_pool.connection_kwargs.get("client_name") for one in manager.sentinels}
            return manager.min_other_sentinels, names, topics

    with Sentinels(tmp_path) as sentinels:
        kombus = sentinels.url.replace("delayhub-sentinel://", "sentinel://")
        for options in ({}, {"sentinel_fanout_compat": True}):
            assert look(sentinels.url, **options) == look(kombus, **options)
        assert look(sentinels.url)[:2] == (1, {"shop"})
        assert look(sentinels.url, sentinel_fanout_compat=True) != look(sentinels.url)
