"""A channel's queues: what is unreadable or dead, what expires, what is deleted."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from kombu import Consumer, Producer, Queue

from delayhub.engine import Counts, DelayQueue, Entry
from delayhub.transport.hooks import hooks
from tests.consuming import drain, keep_payloads
from tests.fixture_types import Stored
from tests.integration.delayhub.transport.publishing import publish
from tests.waiting import wait_until


def test_poison_among_good_messages_is_buried_with_the_reason(connection: Any, stored: Stored) -> None:
    got: list[Any] = []
    with connection.channel() as channel:
        Producer(channel).publish("before", routing_key="q")
        stored("q").schedule(
            [
                Entry("not json", payload=b"\xff\x00"),
                Entry("no properties", payload=b"{}"),
                Entry("bad base64", payload=b'{"body": "a", "properties": {"body_encoding": "base64"}, "headers": {}}'),
            ]
        )
        Producer(channel).publish("after", routing_key="q")
        with Consumer(channel, [Queue("q")], on_message=keep_payloads(got)):
            drain(connection, until=lambda: len(got) == 2)

    assert got == ["before", "after"]
    dead = {listed.id: listed.reason or "" for listed in stored("q").list("dead")}
    assert set(dead) == {"not json", "no properties", "bad base64"}
    assert all(reason.startswith("unreadable: ") for reason in dead.values())


def test_basic_get_passes_over_poison(connection: Any, stored: Stored) -> None:
    with connection.channel() as channel:
        stored("q").schedule([Entry("poison", payload=b"?")])
        Producer(channel).publish("good", routing_key="q")

        assert channel.basic_get("q").payload == "good"
    assert stored("q").count().dead == 1


def test_a_queue_deleted_while_consumers_wait_goes_on_when_it_is_used_again(connection: Any) -> None:
    got: list[Any] = []
    with connection.channel() as channel, connection.channel() as other:
        with Consumer(channel, [Queue("q")], on_message=keep_payloads(got)):
            Producer(other).publish(1, routing_key="q")
            drain(connection, until=lambda: got == [1])
            other.queue_delete("q")
            Producer(other).publish(2, routing_key="q")
            drain(connection, until=lambda: got == [1, 2])


def test_a_queue_that_expires_leaves_no_key(connection: Any, redis_client: redis.Redis) -> None:
    with connection.channel() as channel:
        Queue("reply", expires=0.2, auto_delete=True, durable=False)(channel).declare()
        Producer(channel).publish("x", routing_key="reply")
        kept = [key for key in redis_client.keys("delayhub:*") if redis_client.pttl(key) == -1]

    assert kept == []
    wait_until(lambda: not redis_client.keys("delayhub:*"))


@pytest.mark.parametrize("error", [redis.ConnectionError("lost"), redis.ResponseError("BUSY"), OSError("no route")])
def test_a_publish_whose_expiry_fails_is_stored_once_and_the_next_one_sets_it(
    connection: Any, stored: Stored, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    tries = list[int]()

    def fails(queue: DelayQueue, after_ms: int) -> None:
        del queue
        tries.append(after_ms)
        raise error

    with connection.channel() as channel:
        Queue("reply", expires=60, auto_delete=True, durable=False)(channel).declare()
        with monkeypatch.context() as patched:
            patched.setattr(DelayQueue, "expire", fails)
            Producer(channel).publish("x", routing_key="reply", retry=True)

        payloads = stored("reply").keys.payload
        assert (stored("reply").count().ready, channel.publisher.pttl(payloads)) == (1, -1)
        assert tries == [60_000]
        assert f"queue reply keeps its messages longer than it should: {error}" in caplog.text
        Producer(channel).publish("x", routing_key="reply")
        assert 0 < channel.publisher.pttl(payloads) <= 60_000


def test_a_requeue_costs_a_strike_only_where_the_process_was_lost(connection: Any, stored: Stored) -> None:
    publish(connection, id="t")
    with connection.channel() as channel:
        for lost, strikes in ((False, 0), (True, 1), (False, 1), (True, 2)):
            message = channel.basic_get("q")
            if lost:
                channel.mark_process_lost(message.delivery_tag)
            message.requeue()
            assert [listed.strikes for listed in stored("q").list("ready")] == [strikes]

        again = channel.basic_get("q")
        assert again.delivery_info["redelivered"] is True
        again.ack()


def test_a_message_is_reported_before_it_is_dead_and_again_where_that_was_interrupted(
    connection: Any, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.transport_options |= {"max_strikes": 2, "lease_seconds": 0.2}
    reported: list[tuple[str, str]] = []

    def on_dead(message: Any, reason: str) -> None:
        assert stored("q").count() == Counts(0, 0, 1, 0), "not dead before it is reported"
        reported.append((message.headers["id"], reason))
        if len(reported) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(hooks, "on_dead", on_dead)
    publish(connection, id="t")
    with connection.channel() as channel:
        for _ in range(2):
            message = channel.basic_get("q")
            channel.mark_process_lost(message.delivery_tag)
            message.requeue()

        with pytest.raises(KeyboardInterrupt):
            channel.basic_get("q")

        def lease_ran_out() -> bool:
            assert channel.basic_get("q") is None
            return len(reported) > 1

        wait_until(lease_ran_out)

    assert reported == [("t", f"lost its process or its lease {strikes} times") for strikes in (2, 3)]
    assert [(listed.id, listed.reason) for listed in stored("q").list("dead")] == [reported[1]]
