"""When a channel claims: as soon as something is due, in turns, and no more often than it must."""

from __future__ import annotations

import contextlib
import statistics
import time
from datetime import UTC, datetime
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Producer, Queue

from delayhub.engine import Counts, Entry
from delayhub.engine.limits import DECLARED, Limit, set_limits
from delayhub.transport.hooks import HOOKS_OPTION, Hooks, name_hooks
from tests.consuming import drain, keep_payloads
from tests.fixture_types import Stored
from tests.integration.delayhub.transport.publishing import publish


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


@pytest.mark.timing
def test_delayed_messages_wake_their_consumer_on_time(connection: Any) -> None:
    late: list[float] = []
    first = time.time() + 0.4  # noqa: TID251  compared with the machine's clock, which Redis shares here
    due = [first, first + 0.2, first + 0.4, first + 0.6, first + 0.8]

    def on_message(message: Any) -> None:
        late.append(time.time() - due[len(late)])  # noqa: TID251  the clock that the publisher has
        message.ack()

    with connection.channel() as channel, Consumer(channel, [Queue("q")], on_message=on_message):
        for number, moment in enumerate(due):
            headers = {"id": f"t{number}", "task": "t", "eta": datetime.fromtimestamp(moment, UTC).isoformat()}
            Producer(channel).publish([], routing_key="q", headers=headers)
        drain(connection, until=lambda: len(late) == len(due))

    assert min(late) >= 0
    assert statistics.median(late) < 0.1  # where the machine stands still for a moment, some are late


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


def drain_for(connection: Any, *, seconds: float) -> None:
    """Lets the connection poll for so long, whatever comes."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        with contextlib.suppress(TimeoutError):
            connection.drain_events(timeout=left)


def test_an_acknowledgement_after_the_consumer_was_cancelled_travels_without_a_claim(
    connection: Any, redis_client: redis.Redis, stored: Stored, caplog: pytest.LogCaptureFixture
) -> None:
    held: list[Any] = []
    publish(connection, "last")
    with connection.channel() as channel:
        consumer = Consumer(channel, [Queue("q")], on_message=held.append)
        consumer.consume()
        drain(connection, until=lambda: bool(held))
        consumer.cancel()
        held[0].ack()
        redis_client.config_resetstat()

        drain_for(connection, seconds=0.5)

        assert stored("q").count() == Counts(0, 0, 0, 0)
    assert redis_client.info("commandstats")["cmdstat_evalsha"]["calls"] < 5
    assert "refused" not in caplog.text


@pytest.mark.parametrize("consuming", [True, False])
def test_a_refused_request_is_not_sent_again_at_once(
    consuming: bool, connection: Any, redis_client: redis.Redis, stored: Stored, caplog: pytest.LogCaptureFixture
) -> None:
    held: list[Any] = []
    publish(connection, "held")
    with connection.channel() as channel:
        consumer = Consumer(channel, [Queue("q")], on_message=held.append)
        consumer.consume()
        drain(connection, until=lambda: bool(held))
        if not consuming:
            consumer.cancel()
        redis_client.rename(stored("q").keys.holder, "aside")
        redis_client.set(stored("q").keys.holder, "of another type")
        held[0].ack()

        drain_for(connection, seconds=1.3)

        assert 1 <= caplog.text.count("Redis refused") <= 3
        redis_client.rename("aside", stored("q").keys.holder)
        drain(connection, until=lambda: stored("q").count() == Counts(0, 0, 0, 0))


def test_a_task_with_a_limit_starts_before_what_was_fetched_and_only_where_a_process_is_free(
    broker: str, stored: Stored
) -> None:
    queue, free, got = stored("q"), [0], list[str]()
    own = Hooks(free_processes=lambda: free[0])
    set_limits(queue, DECLARED, {"shop.mail": Limit(10**13)})

    def on_message(message: Any) -> None:
        got.append(message.headers["task"])
        free[0] -= 1

    with Connection(broker, transport_options={HOOKS_OPTION: name_hooks("shop", own)}) as connection:
        for task in ("shop.add", "shop.mail", "shop.add"):
            publish(connection, [], queue="q", task=task)
        with connection.channel() as channel:
            consumer = Consumer(channel, [Queue("q")], on_message=on_message)
            consumer.qos(prefetch_count=2)
            with consumer:
                drain(connection, until=lambda: queue.count().leased == 2 and queue.count().parked == 1)
                assert got == []

                free[0] = 2
                channel.note_free_process()
                drain(connection, until=lambda: len(got) == 2)

    assert got == ["shop.mail", "shop.add"]
