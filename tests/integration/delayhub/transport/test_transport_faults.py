"""Each fault that a delayed transport on Redis was seen to have, and does not have here."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Exchange, Producer, Queue

from delayhub.engine import Counts, DelayQueue, Entry
from tests.consuming import drain, keep_payloads, take_all
from tests.fixture_types import Stored


def eta(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()  # noqa: TID251  an eta is made by a client's clock


def test_an_eta_delays_the_message_in_every_queue_of_an_exchange(connection: Any, stored: Stored) -> None:
    exchange = Exchange("both")
    queues = [Queue(name, exchange, routing_key="k") for name in ("one", "two")]
    headers = {"id": "t", "task": "t", "eta": eta(60)}

    with connection.channel() as channel:
        Producer(channel).publish([], exchange=exchange, routing_key="k", headers=headers, declare=queues)

    assert [stored(name).count() for name in ("one", "two")] == [Counts(1, 0, 0, 0)] * 2
    assert headers["eta"] is not None


def test_a_fanout_message_keeps_its_eta(connection: Any) -> None:
    exchange = Exchange("all", type="fanout")
    heard: list[Any] = []
    with connection.channel() as channel, connection.channel() as other:
        with Consumer(channel, [Queue("fanout-q", exchange, exclusive=True)], on_message=heard.append, no_ack=True):
            with pytest.raises(TimeoutError):
                connection.drain_events(timeout=0.2)  # subscribes
            when = eta(60)
            Producer(other).publish([], exchange=exchange, headers={"id": "t", "eta": when})
            drain(connection, until=lambda: bool(heard))

    assert heard[0].headers["eta"] == when


def test_a_put_that_failed_is_delayed_when_it_is_tried_again(
    connection: Any, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = DelayQueue.schedule
    fails = [redis.ConnectionError("cut")]

    def cut_once(self: DelayQueue, *args: Any, **options: Any) -> Any:
        if fails:
            raise fails.pop()
        return schedule(self, *args, **options)

    monkeypatch.setattr(DelayQueue, "schedule", cut_once)
    with connection.channel() as channel:
        Producer(channel).publish(
            [],
            routing_key="q",
            headers={"id": "t", "task": "t", "eta": eta(60)},
            retry=True,
            retry_policy={"interval_start": 0},
        )

    assert stored("q").count() == Counts(1, 0, 0, 0)


def test_one_id_published_twice_is_delivered_twice(connection: Any) -> None:
    with connection.channel() as channel:
        for body in ("first", "second"):
            Producer(channel).publish(body, routing_key="q", headers={"id": "same"})

    assert [message.payload for message in take_all(connection, "q")] == ["first", "second"]


def test_five_thousand_serial_publishes_arrive_in_order(connection: Any) -> None:
    got: list[int] = []
    with connection.channel() as channel:
        producer = Producer(channel)
        for number in range(5000):
            producer.publish(number, routing_key="q", headers={"id": f"{number * 7919 % 5000}"})
        consumer = Consumer(channel, [Queue("q")], on_message=keep_payloads(got))
        consumer.qos(prefetch_count=100)
        with consumer:
            drain(connection, until=lambda: len(got) == 5000, within_seconds=30)

    assert got == list(range(5000))


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


def test_what_was_claimed_and_not_handed_over_goes_back_in_its_order(broker: str, stored: Stored) -> None:
    held: list[Any] = []
    with Connection(broker) as first:
        channel = first.channel()
        for number in range(20):
            Producer(channel).publish(number, routing_key="q")
        consumer = Consumer(channel, [Queue("q")], on_message=held.append)
        consumer.qos(prefetch_count=20)
        consumer.consume()
        drain(first, until=lambda: len(held) == 3)
        assert stored("q").count().leased == 20

    assert stored("q").count() == Counts(0, 20, 0, 0)
    with Connection(broker) as second, second.channel() as channel:
        assert [channel.basic_get("q").payload for _ in range(20)] == list(range(20))


def test_a_cancelled_consumer_gives_back_what_it_did_not_hand_over(connection: Any, stored: Stored) -> None:
    held: list[Any] = []
    with connection.channel() as channel:
        for number in range(10):
            Producer(channel).publish(number, routing_key="q")
        consumer = Consumer(channel, [Queue("q")], on_message=held.append)
        consumer.qos(prefetch_count=10)
        with consumer:
            drain(connection, until=lambda: len(held) == 1)

        assert stored("q").count() == Counts(0, 9, 1, 0)


def test_an_acknowledgement_after_the_channel_is_gone_is_not_lost(broker: str, stored: Stored) -> None:
    from delayhub.transport.hooks import hooks

    with Connection(broker) as first:
        channel = first.channel()
        Producer(channel).publish("slow", routing_key="q")
        message = channel.basic_get("q")
        running = hooks.running_tags
        hooks.running_tags = lambda: frozenset({message.delivery_tag})
        try:
            channel.close()
        finally:
            hooks.running_tags = running

        assert stored("q").count().leased == 1, "a running message keeps its lease"
        book = first.default_channel.book
        book.acknowledge(message.delivery_tag)
        book.keep()

    assert stored("q").count() == Counts(0, 0, 0, 0)


def test_the_keeper_renews_what_is_held_but_not_what_is_done(connection: Any, stored: Stored) -> None:
    with connection.channel() as channel:
        for name in ("held", "done"):
            Producer(channel).publish(name, routing_key="q", headers={"id": name})
        held, done = channel.basic_get("q"), channel.basic_get("q")
        before = {listed.id: listed.at_ms for listed in stored("q").list("leased")}
        done.ack()
        time.sleep(0.005)  # a lease renewed within the same ms has the same end
        channel.book.keep()

        (after,) = stored("q").list("leased")
        assert (after.id, after.at_ms > before["held"]) == ("held", True)
        held.ack()


def test_a_queue_deleted_while_consumers_wait_goes_on_when_it_is_used_again(connection: Any) -> None:
    got: list[Any] = []
    with connection.channel() as channel, connection.channel() as other:
        with Consumer(channel, [Queue("q")], on_message=keep_payloads(got)):
            Producer(other).publish(1, routing_key="q")
            drain(connection, until=lambda: got == [1])
            other.queue_delete("q")
            Producer(other).publish(2, routing_key="q")
            drain(connection, until=lambda: got == [1, 2])


def test_a_delayed_message_wakes_its_consumer_on_time(connection: Any) -> None:
    late: list[float] = []
    due = time.time() + 0.4  # noqa: TID251  compared with the machine's clock, which Redis shares here

    def on_message(message: Any) -> None:
        late.append(time.time() - due)  # noqa: TID251  the clock that the publisher has
        message.ack()

    with connection.channel() as channel:
        when = datetime.fromtimestamp(due, UTC).isoformat()
        with Consumer(channel, [Queue("q")], on_message=on_message):
            Producer(channel).publish([], routing_key="q", headers={"id": "t", "task": "t", "eta": when})
            drain(connection, until=lambda: bool(late))

    assert 0 <= late[0] < 0.25


def test_a_timer_queue_delivers_batches_of_ids(connection: Any, redis_client: redis.Redis) -> None:
    from delayhub.engine import TimerLane

    arguments = {"x-delayhub-task": "t.deliver", "x-delayhub-batch": 10}
    lane = TimerLane(redis_client, "timers")
    lane.ensure("close", [(f"j{n:02d}", 1) for n in range(25)])
    got: list[Any] = []
    with connection.channel() as channel:
        consumer = Consumer(channel, [Queue("timers", queue_arguments=arguments)], on_message=got.append)
        consumer.qos(prefetch_count=8)
        with consumer:
            drain(connection, until=lambda: sum(len(message.payload[0][0]) for message in got) == 25)
            assert lane.count("close") == 25  # leased
            for message in got:
                message.ack()
            drain(connection, until=lambda: lane.count("close") == 0)

    assert max(len(message.payload[0][0]) for message in got) == 10
    assert {message.headers["task"] for message in got} == {"t.deliver"}


def test_timers_not_worked_on_go_back_when_the_channel_closes(broker: str, redis_client: redis.Redis) -> None:
    from delayhub.engine import TimerLane

    lane = TimerLane(redis_client, "timers")
    lane.ensure("close", [("1", 1), ("2", 1)])
    got: list[Any] = []
    with Connection(broker) as connection:
        channel = connection.channel()
        queue = Queue("timers", queue_arguments={"x-delayhub-task": "t.deliver"})
        Consumer(channel, [queue], on_message=got.append).consume()
        drain(connection, until=lambda: bool(got))

    assert [batch.ids for batch in lane.claim().batches] == [["1", "2"]]


def test_a_batch_of_timers_whose_task_failed_comes_back_one_by_one(connection: Any, redis_client: redis.Redis) -> None:
    from delayhub.engine import TimerLane

    lane = TimerLane(redis_client, "timers")
    lane.ensure("close", [("1", 1), ("2", 1)])
    connection.transport_options["lease_seconds"] = 0.3
    got: list[Any] = []

    def on_message(message: Any) -> None:
        got.append(message)
        if len(got) == 1:
            message.reject()
        else:
            message.ack()

    with connection.channel() as channel:
        queue = Queue("timers", queue_arguments={"x-delayhub-task": "t.deliver"})
        with Consumer(channel, [queue], on_message=on_message):
            drain(connection, until=lambda: len(got) == 3)

    assert [message.payload[0][0] for message in got] == [["1", "2"], ["1"], ["2"]]
    assert [message.payload[1]["struck"] for message in got] == [False, True, True]
