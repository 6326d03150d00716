"""What is claimed and not handed over: in its order, leased, and given back."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Producer, Queue

from delayhub.engine import Counts, Gate, Revision, TimerLane
from tests.consuming import drain, keep_payloads
from tests.fixture_types import Stored


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
        again = [channel.basic_get("q") for _ in range(20)]
        assert [message.payload for message in again] == list(range(20))
        # What only waited in the process' memory was never delivered.
        assert [bool(message.delivery_info.get("redelivered")) for message in again] == [True] * 3 + [False] * 17


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


def test_a_timer_queue_delivers_batches_of_ids(connection: Any, redis_client: redis.Redis) -> None:
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


def test_a_queue_without_a_gate_is_shut_and_named_first_to_a_task_that_writes_gates(
    connection: Any, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delayhub.transport.timer_queue.gate_writers", {"t.deliver"})
    lane, revision = TimerLane(redis_client, "timers"), Revision(1, 1)
    lane.set_gate("limited", Gate(), revision=revision)
    lane.ensure("new", [(f"new-{n}", 1) for n in range(25)])
    lane.ensure("limited", [("one", 1)])
    got: list[Any] = []

    with connection.channel() as channel:
        queue = Queue("timers", queue_arguments={"x-delayhub-task": "t.deliver"})
        consumer = Consumer(channel, [queue], on_message=got.append)
        consumer.qos(prefetch_count=8)
        with consumer:
            drain(connection, until=lambda: len(got) == 2)
            # Never with the next claim by chance: its task has not written the gate yet.
            assert [(message.payload[0][0], message.payload[1].get("ungated")) for message in got] == [
                ([], ["new"]),
                (["one"], None),
            ]
            lane.set_gate("new", Gate(max_in_flight=3), revision=revision)
            got[0].ack()
            drain(connection, until=lambda: "new" in str(got[-1].payload[0][0]))

    assert len(got[-1].payload[0][0]) == 3


def test_a_busy_flow_key_fills_a_process_with_one_message_only(connection: Any, redis_client: redis.Redis) -> None:
    lane = TimerLane(redis_client, "timers")
    lane.ensure("keyed", [(f"busy-{n:03d}", 1) for n in range(500)], key="busy")
    lane.ensure("plain", [(f"plain-{n}", 1) for n in range(200)])
    got: list[Any] = []

    def held() -> Counter[str]:
        return Counter(name.partition("-")[0] for message in got for name in message.payload[0][0])

    with connection.channel() as channel:
        queue = Queue("timers", queue_arguments={"x-delayhub-task": "t.deliver", "x-delayhub-batch": 100})
        consumer = Consumer(channel, [queue], on_message=got.append)
        consumer.qos(prefetch_count=50)
        with consumer:
            drain(connection, until=lambda: held() == {"busy": 50, "plain": 200})
            lane.ensure("keyed", [("small-1", 1)], key="small")
            got.pop(next(n for n, message in enumerate(got) if "busy-000" in message.payload[0][0])).ack()
            drain(connection, until=lambda: held()["small"] == 1)

            assert held()["busy"] <= 50


def test_many_flow_keys_fill_a_process_with_two_large_messages(connection: Any, redis_client: redis.Redis) -> None:
    lane = TimerLane(redis_client, "timers")
    for number in range(450):
        lane.ensure("keyed", [(f"many-{number:03d}", 1)], key=f"key-{number}")
    got: list[Any] = []

    def sizes() -> list[int]:
        return [len(message.payload[0][0]) for message in got]

    with connection.channel() as channel:
        queue = Queue("timers", queue_arguments={"x-delayhub-task": "t.deliver", "x-delayhub-batch": 100})
        consumer = Consumer(channel, [queue], on_message=got.append)
        consumer.qos(prefetch_count=50)
        with consumer:
            drain(connection, until=lambda: sum(sizes()) == 200)
            assert sizes() == [50, 100, 50]  # the first claim did not know yet
            lane.ensure("keyed", [(f"busy-{n:03d}", 1) for n in range(500)], key="busy")
            for message in got:
                message.ack()
            drain(connection, until=lambda: sum(sizes()) == 400)
            for message in got[3:]:
                message.ack()
            drain(connection, until=lambda: "busy" in str(got[-1].payload[0][0]))

            assert lane.count_keys("keyed", ["busy"])[0].due >= 400  # what one claim brings of a key, and one more


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


@pytest.mark.parametrize(
    ("acknowledges", "lease_seconds"),
    [
        (True, 30),
        (False, 0.5),  # it runs on, and has been harmless for long enough
    ],
)
def test_what_struck_twice_has_the_process_to_itself(
    acknowledges: bool, lease_seconds: float, broker: str, stored: Stored
) -> None:
    queue = stored("q")
    got: list[Any] = []
    with Connection(broker, transport_options={"lease_seconds": lease_seconds}) as connection:
        channel = connection.channel()
        for number in range(5):
            Producer(channel).publish(number, routing_key="q", headers={"id": str(number)})
            if number == 1:
                for _ in range(2):  # a lease of nothing runs out at once
                    assert [entry.id for entry in queue.claim(5, lease_ms=0).entries] == ["0", "1"]
                    queue.reap()
                claimed = queue.claim(1).entries[0]
                queue.acknowledge([queue.lease(claimed.id, claimed.token)])  # only 1 is left of the two
        consumer = Consumer(channel, [Queue("q")], on_message=got.append)
        consumer.qos(prefetch_count=10)
        consumer.consume()
        drain(connection, until=lambda: bool(got))
        began = time.monotonic()
        if acknowledges:
            with pytest.raises(TimeoutError):
                connection.drain_events(timeout=0.3)
            assert [message.payload for message in got] == [1]
            got[0].ack()
        drain(connection, until=lambda: len(got) == 4)

        assert [message.payload for message in got] == [1, 2, 3, 4]
        assert acknowledges or time.monotonic() - began > 0.3


def test_what_waits_in_the_buffer_keeps_its_lease_or_is_left_to_its_new_consumer(broker: str, stored: Stored) -> None:
    got: list[Any] = []
    queue = stored("q")
    with Connection(broker, transport_options={"lease_seconds": 30}) as connection:
        channel = connection.channel()
        for number in range(4):
            Producer(channel).publish(number, routing_key="q", headers={"id": str(number)})
        consumer = Consumer(channel, [Queue("q")], on_message=keep_payloads(got))
        consumer.qos(prefetch_count=4)
        consumer.consume()
        drain(connection, until=lambda: len(got) == 1)  # as long as its task runs, nothing else is handed over
        before = {listed.id: listed.at_ms for listed in queue.list("leased")}
        time.sleep(0.005)  # a lease renewed within the same ms has the same end
        channel.book.keep()
        assert all(listed.at_ms > before[listed.id] for listed in queue.list("leased") if listed.id != "0")

        leased = {lease.id: lease for lease in channel.consumer.buffer.leases()}
        queue.extend([leased["1"]], lease_ms=0)
        queue.reap()
        (theirs,) = queue.claim(1).entries
        assert theirs.id == "1"
        channel.book.keep()
        drain(connection, until=lambda: len(got) == 3)

    assert got == [0, 2, 3]
    assert [listed.id for listed in queue.list("leased")] == ["1"]


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
