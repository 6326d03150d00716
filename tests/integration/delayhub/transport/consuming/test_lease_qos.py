"""A channel's credit, and what becomes of messages that were delivered and are not done."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kombu import Producer

from delayhub.engine import Counts, Lease
from delayhub.transport.channel import Channel
from delayhub.transport.consuming.lease_qos import LeaseQoS
from tests.fixture_types import Stored


@pytest.fixture
def channel(connection: Any) -> Channel:
    made: Channel = connection.channel()
    return made


@pytest.fixture
def qos(channel: Channel) -> LeaseQoS:
    found: LeaseQoS = channel.qos
    return found


def deliver(channel: Channel, count: int) -> list[Any]:
    """So many messages, delivered and not acknowledged."""
    for number in range(count):
        Producer(channel).publish(number, routing_key="q")
    return [channel.basic_get("q") for _ in range(count)]


@pytest.mark.parametrize(
    ("prefetch_count", "buffered", "credit"),
    [
        (4, 0, 4),
        # what waits to be handed over counts too
        (4, 3, 1),
        (4, 9, 0),
        # no limit is a limit all the same
        (0, 0, 100),
        (0, 99, 1),
        (0, 200, 0),
    ],
)
def test_credit_is_the_prefetch_count_without_what_is_buffered(
    prefetch_count: int, buffered: int, credit: int, qos: LeaseQoS
) -> None:
    qos.prefetch_count = prefetch_count

    assert qos.credit(buffered=buffered, unlimited=100) == credit


def test_credit_comes_back_when_a_message_is_done(channel: Channel, qos: LeaseQoS) -> None:
    qos.prefetch_count = 3
    first, _ = deliver(channel, 2)
    assert (qos.credit(buffered=0, unlimited=100), qos.unacknowledged) == (1, 2)

    first.ack()

    assert (qos.credit(buffered=0, unlimited=100), qos.unacknowledged) == (2, 1)


def test_beside_a_message_that_may_take_the_process_down_there_is_no_credit(channel: Channel, qos: LeaseQoS) -> None:
    channel.book.isolate(Lease("q", "q", "suspect", 1))
    try:
        assert qos.credit(buffered=0, unlimited=100) == 0
    finally:
        channel.book.suspects.clear()


@pytest.mark.parametrize(("allows", "buffered", "credit"), [(True, 0, 1), (True, 1, 0), (False, 0, 0)])
def test_a_worker_without_prefetch_decides_message_by_message(
    allows: bool, buffered: int, credit: int, qos: LeaseQoS
) -> None:
    qos.can_consume = lambda: allows

    assert qos.credit(buffered=buffered, unlimited=100) == credit


def test_a_rejected_message_is_gone_and_a_requeued_one_is_back(channel: Channel, stored: Stored) -> None:
    dropped, back = deliver(channel, 2)

    dropped.reject()
    back.requeue()
    channel.book.flush()

    assert stored("q").count() == Counts(0, 1, 0, 0)


def test_what_was_not_done_goes_back_in_its_order_when_the_channel_ends(channel: Channel, stored: Stored) -> None:
    deliver(channel, 3)

    channel.qos.restore_unacked()

    payloads = [stored("q").claim(1).entries[0].payload for _ in range(3)]
    assert [json.loads(payload)["body"] for payload in payloads] == ["0", "1", "2"]


def test_what_cannot_be_given_back_waits_for_its_lease_to_run_out(
    channel: Channel, qos: LeaseQoS, monkeypatch: pytest.MonkeyPatch, stored: Stored
) -> None:
    deliver(channel, 1)

    def refuse(tags: Any) -> int:
        raise OSError("the connection is gone")

    with monkeypatch.context() as away:
        away.setattr(channel.book, "release", refuse)
        assert qos.restore_unacked() == []

    assert stored("q").count().leased == 1
    channel.book.release(list(channel.book.tags))


def test_a_message_that_was_delivered_says_so_when_it_comes_again(channel: Channel) -> None:
    (message,) = deliver(channel, 1)
    assert not message.delivery_info.get("redelivered")

    message.requeue()
    again = channel.basic_get("q")

    assert (again.delivery_info["redelivered"], again.headers["redelivered"]) == (True, True)
    again.ack()


def test_what_goes_back_when_the_channel_ends_says_that_it_was_delivered(channel: Channel, stored: Stored) -> None:
    deliver(channel, 2)

    channel.qos.restore_unacked()

    assert [entry.redelivered for entry in stored("q").claim(2).entries] == [True, True]


def test_a_lost_lease_says_that_the_message_was_delivered(channel: Channel, stored: Stored) -> None:
    Producer(channel).publish("once", routing_key="q")
    stored("q").claim(1, lease_ms=0)

    again = channel.basic_get("q")

    assert again.delivery_info["redelivered"] is True
    again.ack()
