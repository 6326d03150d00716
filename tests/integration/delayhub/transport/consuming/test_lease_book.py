"""What a process holds: leases are renewed while messages are held, and acknowledgements reach Redis in the end."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Producer, Queue
from redis.backoff import NoBackoff
from redis.retry import Retry

from delayhub.engine import Counts
from delayhub.engine.limits import DECLARED_AT_ONCE, Limit, flying_counts, set_limits
from delayhub.local.redis_server import RedisServer
from delayhub.transport.consuming.lease_book import LeaseBook
from delayhub.transport.hooks import hooks
from delayhub.transport.options import TransportOptions
from tests.consuming import drain
from tests.fixture_types import Stored
from tests.integration.delayhub.transport.publishing import publish
from tests.tcp_proxy import TcpProxy
from tests.waiting import wait_until


def test_an_acknowledgement_after_the_channel_is_gone_is_not_lost(broker: str, stored: Stored) -> None:

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


def test_what_the_first_acknowledgements_need_is_there_before_they_come(
    connection: Any, redis_client: redis.Redis
) -> None:
    def clients() -> set[str]:
        return {client["id"] for client in redis_client.client_list()}

    book = connection.default_channel.book
    book.prepare(3)
    prepared, pool = clients(), book.client.connection_pool

    taken = [pool.get_connection() for _ in range(3)]  # by three threads at once

    assert clients() == prepared
    for each in taken:
        pool.release(each)


def test_a_redis_that_is_away_prepares_nothing_and_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    book = LeaseBook(TransportOptions(), lambda: redis.Redis(port=1, retry=Retry(NoBackoff(), 0)))

    with caplog.at_level(logging.INFO):
        book.prepare(2)

    assert "no connection for acknowledgements yet" in caplog.text
    assert not book.client.connection_pool._in_use_connections


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


def test_before_a_task_starts_the_acknowledgements_of_other_queues_are_sent_too(
    connection: Any, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connection.channel() as channel:
        for queue in ("ended", "starts"):
            Producer(channel).publish("x", routing_key=queue)
        ended, starts = channel.basic_get("ended"), channel.basic_get("starts")
        monkeypatch.setattr(channel.book, "bells", {lambda: None})  # of a consumer whose loop the task will block
        ended.ack()

        channel.acknowledge_early(starts.delivery_tag, is_quick=False)

        assert [stored(queue).count() for queue in ("ended", "starts")] == [Counts(0, 0, 0, 0)] * 2


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


def test_an_early_acknowledgement_is_sent_before_its_task_starts(connection: Any, stored: Stored) -> None:
    with connection.channel() as channel:
        publish(connection)
        message = channel.basic_get("q")

        channel.acknowledge_early(message.delivery_tag, is_quick=False)

        assert stored("q").count() == Counts(0, 0, 0, 0)
        message.ack()  # which Celery's event loop does later


def test_a_message_that_counts_is_kept_from_its_early_acknowledgement_until_its_end(
    connection: Any, stored: Stored
) -> None:
    queue = stored("q")
    set_limits(queue, DECLARED_AT_ONCE, {"shop.mail": Limit(2)})
    for name, task in (("a", "shop.mail"), ("lost", "shop.mail"), ("x", "shop.add")):
        publish(connection, id=name, task=task)
    with connection.channel() as channel:
        book = channel.book
        messages = {message.headers["id"]: message for message in (channel.basic_get("q") for _ in range(3))}
        tags = {name: message.delivery_tag for name, message in messages.items()}
        assert [book.counts(tags[name]) for name in ("a", "lost", "x")] == [True, True, False]
        queue.extend(book.tags[tags["lost"]], lease_ms=0)
        queue.reap()

        assert [book.keep_started(tags[name]) for name in ("a", "lost", "x")] == [True, False, False]
        for message in messages.values():
            message.ack()
        book.flush()
        assert (queue.count(), flying_counts(queue)) == (Counts(0, 0, 1, 0), {"shop.mail": 1})
        for tag in tags.values():
            book.end_started(tag)
        book.flush()

        assert (queue.count(), flying_counts(queue)) == (Counts(0, 0, 0, 0), {})
        assert [*book.started, *book.counted, *book.held] == []


def test_of_quick_tasks_early_acknowledgements_share_a_call_and_wait_for_no_event_loop(
    connection: Any, redis_client: redis.Redis, stored: Stored
) -> None:
    with connection.channel() as channel:
        for number in range(50):
            publish(connection, number)
        messages = [channel.basic_get("q") for _ in range(50)]
        redis_client.config_resetstat()
        channel.book.bells.add(print)  # stands for an event loop, which is busy

        for message in messages:
            channel.acknowledge_early(message.delivery_tag, is_quick=True)

        channel.book.bells.discard(print)
        wait_until(lambda: not redis_client.exists(stored("q").keys.payload))
        assert stored("q").count() == Counts(0, 0, 0, 0)
        assert redis_client.info("commandstats")["cmdstat_evalsha"]["calls"] < 25


def test_an_acknowledgement_after_the_lease_was_lost_ends_the_message(connection: Any, stored: Stored) -> None:
    publish(connection, id="t")
    with connection.channel() as channel:
        message = channel.basic_get("q")
        stored("q").extend(channel.book.tags[message.delivery_tag], lease_ms=0)
        assert stored("q").reap() == (1, 0)

        message.ack()
        channel.book.flush()

    assert stored("q").count() == Counts(0, 0, 0, 0)
