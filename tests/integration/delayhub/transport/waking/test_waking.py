"""Which consumers wake, which sleep on, and what outlives a lost reply."""

from __future__ import annotations

import time
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Producer, Queue

from delayhub.engine import Counts, Entry
from delayhub.local.redis_server import RedisServer
from tests.consuming import drain, keep_payloads
from tests.fixture_types import Stored
from tests.tcp_proxy import TcpProxy


def test_one_of_many_consumers_wakes_at_the_due_time_and_the_others_are_its_backstop(
    redis_client: redis.Redis, stored: Stored
) -> None:
    first, second, third = stored("q"), stored("q"), stored("q")
    now_ms = first.claim(1).now_ms
    first.schedule([Entry("soon", now_ms + 1000)])

    assert [queue.claim(1).holds_alarm for queue in (first, second, third, first)] == [True, False, False, True]

    first.schedule([Entry("sooner", now_ms + 500)])
    assert [queue.claim(1).holds_alarm for queue in (second, first)] == [True, False]


def test_a_claim_that_leaves_work_behind_wakes_one_more_consumer_and_others_do_not(
    redis_client: redis.Redis, stored: Stored
) -> None:
    queue = stored("q")
    queue.schedule([Entry(str(number)) for number in range(5)])
    redis_client.delete(queue.lane_keys.wake)

    assert queue.claim(3).more
    assert redis_client.lrange(queue.lane_keys.wake, 0, -1) == [b"1"]
    redis_client.delete(queue.lane_keys.wake)
    assert not queue.claim(3).more
    assert not redis_client.exists(queue.lane_keys.wake)


def test_a_bell_that_rings_while_there_is_no_credit_costs_no_time(connection: Any) -> None:
    held: list[Any] = []
    with connection.channel() as channel, connection.channel() as other:
        consumer = Consumer(channel, [Queue("q")], on_message=held.append)
        consumer.qos(prefetch_count=1)
        with consumer:
            Producer(other).publish(0, routing_key="q")
            drain(connection, until=lambda: len(held) == 1)
            for number in range(5):
                Producer(other).publish(number, routing_key="q")
            spent = time.process_time()
            with pytest.raises(TimeoutError):
                connection.drain_events(timeout=0.6)

            assert time.process_time() - spent < 0.2
        held[0].ack()


def test_a_consumer_goes_on_when_redis_forgot_its_scripts(connection: Any, redis_client: redis.Redis) -> None:
    got: list[Any] = []

    def on_message(message: Any) -> None:
        got.append(message.payload)
        message.ack()
        redis_client.script_flush()

    with connection.channel() as channel, connection.channel() as other:
        with Consumer(channel, [Queue("q")], on_message=on_message):
            for number in range(5):
                Producer(other).publish(number, routing_key="q")
                redis_client.script_flush()
            drain(connection, until=lambda: len(got) == 5)

    assert got == [0, 1, 2, 3, 4]


def test_an_acknowledgement_that_got_no_reply_is_sent_again(
    redis_server: RedisServer, redis_client: redis.Redis, stored: Stored
) -> None:
    with TcpProxy(redis_server.port) as proxy:
        with Connection(f"delayhub://127.0.0.1:{proxy.port}/0") as connection:
            channel = connection.channel()
            held: list[Any] = []
            Producer(channel).publish("once", routing_key="q")
            Consumer(channel, [Queue("q")], on_message=held.append).consume()
            drain(connection, until=lambda: len(held) == 1)

            assert proxy.mute() > 0
            held[0].ack()
            drain(connection, until=lambda: not channel.book.done)
            assert channel.consumer.sending, "the acknowledgement is under way"
            assert stored("q").count() == Counts(0, 0, 1, 0)
            proxy.cut()
            with pytest.raises(connection.connection_errors):
                drain(connection, until=lambda: False)
            connection.collect()

            channel.book.keep()
            assert stored("q").count() == Counts(0, 0, 0, 0)


def test_a_message_that_is_held_too_long_is_no_longer_renewed(broker: str, stored: Stored) -> None:
    with Connection(broker, transport_options={"max_hold_seconds": 0.2}) as connection, connection.channel() as channel:
        Producer(channel).publish("wedged", routing_key="q")
        message = channel.basic_get("q")

        def lease_end() -> int:
            (leased,) = stored("q").list("leased")
            return leased.at_ms

        begin = lease_end()
        time.sleep(0.005)  # a lease renewed within the same ms has the same end
        channel.book.keep()
        renewed = lease_end()
        time.sleep(0.2)  # what it may be held
        channel.book.keep()

        assert begin < renewed == lease_end()
        message.ack()


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
