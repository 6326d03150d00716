"""Odd but legal use: prefixes, ids, times, queues that end by themselves, workers that differ."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import redis
from kombu import Connection, Consumer, Producer, Queue

from delayhub.engine import Counts, DelayQueue, EngineOptions, TimerLane
from delayhub.errors import NotReplicated
from delayhub.transport.hooks import hooks
from tests.consuming import drain, keep_payloads, take_all
from tests.fixture_types import Stored
from tests.waiting import wait_until


def publish(connection: Any, body: Any = None, *, queue: str = "q", **headers: Any) -> None:
    with connection.channel() as channel:
        Producer(channel).publish(body, routing_key=queue, headers={"task": "t", **headers})


def bodies_of(connection: Any, queue: str = "q") -> list[Any]:
    """The bodies that are due, acknowledged."""
    return [message.payload for message in take_all(connection, queue)]


def test_apps_with_different_prefixes_do_not_see_each_other(broker: str, redis_client: redis.Redis) -> None:
    first, second = (Connection(broker, transport_options={"global_keyprefix": prefix}) for prefix in ("a:", "b:"))
    with first, second:
        publish(first, "first")
        publish(second, "second")

        assert all(key[:2] in (b"a:", b"b:") for key in redis_client.scan_iter())
        assert (bodies_of(first), bodies_of(second)) == (["first"], ["second"])
    assert DelayQueue(redis_client, "q", options=EngineOptions(key_prefix="a:")).count() == Counts(0, 0, 0, 0)


@pytest.mark.parametrize(
    "odd", ["a b", "{brace}", "x#1", "☃" * 30, "1e3", "-0", "n:q", "%", "x" * 200, "\x00", "a\nb", "#", "\udcff"]
)
def test_ids_may_have_any_characters(odd: str, connection: Any, stored: Stored) -> None:
    publish(connection, 1, id=odd)
    publish(connection, 2, id=odd)

    assert bodies_of(connection) == [1, 2]
    with connection.channel() as channel:
        channel.book.keep()
    assert stored("q").count() == Counts(0, 0, 0, 0)


@pytest.mark.parametrize("name", ["with space", "a:b", "{x}", "ünï", "q:waiting"])
def test_queues_may_have_any_name(name: str, connection: Any) -> None:
    publish(connection, "here", queue=name)

    assert bodies_of(connection, name) == ["here"]


@pytest.mark.parametrize(
    "delay",
    [
        timedelta(days=25),  # beyond 2^31 ms
        timedelta(days=365 * 20),  # beyond 2038
        timedelta(days=365 * 900),
    ],
)
def test_delays_may_be_years(delay: timedelta, connection: Any, stored: Stored) -> None:
    due = datetime(2026, 11, 21, 12, 0, 0, 123_000, UTC) + delay

    publish(connection, id="far", eta=due.isoformat())

    (listed,) = stored("q").list("waiting")
    assert listed.at_ms == int(due.timestamp() * 1000)


@pytest.mark.parametrize("eta", ["1969-07-20T20:17:40+00:00", "2000-01-01T00:00:00+00:00"])
def test_a_time_in_the_past_is_now(eta: str, connection: Any) -> None:
    publish(connection, "late", id="t", eta=eta)

    assert bodies_of(connection) == ["late"]


@pytest.mark.parametrize(
    ("eta", "offset"),
    [
        ("2030-01-15T12:00:00", "+01:00"),  # winter
        ("2030-07-15T12:00:00", "+02:00"),  # summer
        ("2030-10-27T02:30:00", "+02:00"),  # twice that night: the first
    ],
)
def test_an_eta_without_a_time_zone_is_in_the_apps(
    eta: str, offset: str, connection: Any, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "naive_zone", lambda: ZoneInfo("Europe/Berlin"))

    publish(connection, id="t", eta=eta)

    (listed,) = stored("q").list("waiting")
    assert listed.at_ms == int(datetime.fromisoformat(eta + offset).timestamp() * 1000)


def test_a_queue_that_expires_leaves_no_key(connection: Any, redis_client: redis.Redis) -> None:
    with connection.channel() as channel:
        Queue("reply", expires=0.2, auto_delete=True, durable=False)(channel).declare()
        Producer(channel).publish("x", routing_key="reply")
        kept = [key for key in redis_client.keys("delayhub:*") if redis_client.pttl(key) == -1]

    assert kept == []
    wait_until(lambda: not redis_client.keys("delayhub:*"), within_seconds=5)


def test_each_consumer_has_the_lease_it_asked_for(broker: str, stored: Stored) -> None:
    short = Connection(broker, transport_options={"lease_seconds": 5})
    long = Connection(broker, transport_options={"lease_seconds": 500})
    with short, long:
        publish(short, id="one")
        publish(short, id="two")
        with short.channel() as first, long.channel() as second:
            held = [first.basic_get("q"), second.basic_get("q")]
            ends = {listed.id: listed.at_ms for listed in stored("q").list("leased")}
            for message in held:
                message.ack()

    assert ends["two"] - ends["one"] > 400_000


def test_two_queues_take_turns(connection: Any) -> None:
    for number in range(10):
        publish(connection, ("a", number), queue="a")
        publish(connection, ("b", number), queue="b")
    got: list[Any] = []
    with connection.channel() as channel:
        consumer = Consumer(channel, [Queue("a"), Queue("b")], on_message=keep_payloads(got))
        consumer.qos(prefetch_count=2)
        with consumer:
            drain(connection, until=lambda: len(got) == 20)

    assert sorted(map(tuple, got)) == sorted((name, number) for name in "ab" for number in range(10))
    assert {name for name, _ in got[:8]} == {"a", "b"}


def test_a_publish_that_too_few_replicas_have_says_so_and_is_stored(broker: str, stored: Stored) -> None:
    unreplicated = Connection(broker, transport_options={"wait_replicas": 1, "wait_seconds": 0.05})
    with unreplicated, pytest.raises(NotReplicated, match="0 of 1 replicas"):
        publish(unreplicated, id="t")

    assert stored("q").count() == Counts(0, 1, 0, 0)


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

        wait_until(lease_ran_out, within_seconds=5)

    assert reported == [("t", f"lost its process or its lease {strikes} times") for strikes in (2, 3)]
    assert [(listed.id, listed.reason) for listed in stored("q").list("dead")] == [reported[1]]


def test_timers_of_a_lost_process_come_back_one_by_one(connection: Any, redis_client: redis.Redis) -> None:
    lane = TimerLane(redis_client, "timers")
    lane.ensure("close", [("1", 1), ("2", 1)])
    connection.transport_options["lease_seconds"] = 0.3
    got: list[Any] = []

    def on_message(message: Any) -> None:
        got.append(message.payload[0][0])
        if len(got) == 1:
            message.channel.mark_process_lost(message.delivery_tag)
            message.requeue()
        else:
            message.ack()

    with connection.channel() as channel:
        queue = Queue("timers", queue_arguments={"x-delayhub-task": "t.deliver"})
        with Consumer(channel, [queue], on_message=on_message):
            drain(connection, until=lambda: len(got) == 3)

    assert got == [["1", "2"], ["1"], ["2"]]
