"""Messages that are published or given back wake a consumer that can take them, not only one that listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue

from tests.consuming import drain
from tests.integration.delayhub.transport.publishing import publish


@pytest.fixture(autouse=True)
def rare_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a bell wakes consumers: they would claim by themselves a minute later."""
    monkeypatch.setattr("delayhub.transport.consuming.consumer.PERIOD", 60.0)


class Shop:
    """A consumer on a connection of its own."""

    def __init__(self, broker: str, *, prefetch: int = 1) -> None:
        self.connection: Any = Connection(broker)
        self.channel = self.connection.channel()
        self.got: list[Any] = []
        self.consumer = Consumer(self.channel, [Queue("q")], on_message=self.got.append)
        if prefetch:
            self.consumer.qos(prefetch_count=prefetch)
        self.consumer.consume()

    def have(self, number: int) -> None:
        drain(self.connection, until=lambda: len(self.got) == number, within_seconds=10)

    def idle(self) -> None:
        """Poll until there is nothing to do but to listen."""
        with pytest.raises(TimeoutError):
            self.connection.drain_events(timeout=0.1)

    def close(self) -> None:
        for message in self.got:
            if not message.acknowledged:
                message.ack()
        self.connection.close()


@pytest.fixture
def shop(broker: str) -> Iterator[Callable[..., Shop]]:
    opened: list[Shop] = []

    def open_shop(**options: Any) -> Shop:
        opened.append(Shop(broker, **options))
        return opened[-1]

    yield open_shop
    for each in opened:
        each.close()


def requeue(giver: Shop) -> None:
    giver.got.pop().requeue()


def reject(giver: Shop) -> None:
    giver.got.pop().reject(requeue=True)


def recover(giver: Shop) -> None:
    giver.got.clear()
    giver.channel.basic_recover(requeue=True)


def close_channel(giver: Shop) -> None:
    giver.got.clear()
    giver.channel.close()


def close_connection(giver: Shop) -> None:
    giver.got.clear()
    giver.connection.close()


def publish_another(giver: Shop) -> None:
    publish(giver.connection, "another")


#: Every way by which a message comes into a queue, for consumers of kombu alone.
WAYS = [publish_another, requeue, reject, recover, close_channel, close_connection]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way.__name__))
@pytest.mark.parametrize("prefetch", [0, 1, 10])
def test_it_comes_at_once_to_the_one_consumer_that_waits(
    shop: Callable[..., Shop], way: Callable[[Shop], None], prefetch: int
) -> None:
    giver, taker = shop(), shop(prefetch=prefetch)
    publish(giver.connection, "first")
    giver.have(1)
    if way is not publish_another:
        giver.consumer.cancel()
    taker.idle()

    way(giver)

    taker.have(1)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way.__name__))
def test_a_consumer_without_credit_that_hears_the_bell_wakes_another(
    shop: Callable[..., Shop], way: Callable[[Shop], None]
) -> None:
    giver, full = shop(), shop()
    publish(giver.connection, "first")
    giver.have(1)
    giver.consumer.cancel()
    publish(giver.connection, "second")
    full.have(1)
    full.idle()
    taker = shop()
    taker.idle()

    way(giver)
    full.idle()

    taker.have(1)


def test_a_consumer_that_has_credit_again_takes_what_came_meanwhile(shop: Callable[..., Shop]) -> None:
    full = shop()
    for number in range(3):
        publish(full.connection, number)
    full.have(1)
    full.idle()

    full.got.pop().ack()

    full.have(1)


def test_a_cancelled_consumer_takes_no_ring_from_others(shop: Callable[..., Shop]) -> None:
    cancelled = shop()
    cancelled.idle()
    cancelled.consumer.cancel()
    taker = shop()
    taker.idle()

    publish(taker.connection, "one")

    taker.have(1)


def test_a_ring_that_a_cancelled_consumer_had_heard_wakes_another(shop: Callable[..., Shop]) -> None:
    cancelled, taker = shop(), shop()
    cancelled.idle()
    taker.idle()
    publish(taker.connection, "one")  # Redis gives the ring to the one that listened first

    cancelled.consumer.cancel()

    taker.have(1)


def test_a_program_that_works_between_two_polls_takes_no_ring_from_others(shop: Callable[..., Shop]) -> None:
    busy, taker = shop(prefetch=10), shop(prefetch=10)
    publish(busy.connection, "first")
    busy.have(1)  # and it works on that from now on
    taker.idle()

    publish(taker.connection, "second")

    taker.have(1)
