"""How many messages a channel may claim."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import redis

from delayhub.engine import Lease
from delayhub.transport.consuming.lease_book import LeaseBook
from delayhub.transport.consuming.lease_qos import LeaseQoS
from delayhub.transport.hooks import Hooks
from delayhub.transport.options import TransportOptions


@dataclass
class OneChannel:
    """As much of a channel as its QoS needs; the book's client is never used here."""

    book: LeaseBook = field(default_factory=lambda: LeaseBook(TransportOptions(), redis.Redis))
    hooks: Hooks = field(default_factory=Hooks)
    do_restore = False


@pytest.mark.parametrize(
    ("prefetch", "delivered", "buffered", "credit"),
    [
        (10, 0, 0, 10),
        (10, 4, 3, 3),
        # more is buffered than it may have: the prefetch count was lowered
        (2, 0, 5, 0),
        # no limit: what stands for it, less what waits
        (0, 50, 30, 70),
        (0, 0, 130, 0),
    ],
)
def test_credit_is_what_the_prefetch_count_leaves(prefetch: int, delivered: int, buffered: int, credit: int) -> None:
    qos = LeaseQoS(OneChannel(), prefetch)
    for number in range(delivered):
        qos.append(object(), str(number))

    assert qos.unacknowledged == delivered
    assert qos.credit(buffered=buffered, unlimited=100) == credit


@pytest.mark.parametrize(("may", "buffered", "credit"), [(True, 0, 1), (True, 1, 0), (False, 0, 0)])
def test_where_each_message_is_decided_on_one_is_claimed_at_a_time(may: bool, buffered: int, credit: int) -> None:
    qos = LeaseQoS(OneChannel(), 10)
    qos.can_consume = lambda: may  # as worker_disable_prefetch does

    assert qos.credit(buffered=buffered, unlimited=100) == credit


def test_nothing_is_claimed_beside_a_suspect() -> None:
    channel = OneChannel()
    qos = LeaseQoS(channel, 10)
    suspect = Lease("q", "q", "suspect", 1)

    channel.book.isolate(suspect)

    assert qos.credit(buffered=0, unlimited=100) == 0
    channel.book.suspects.clear()
    assert qos.credit(buffered=0, unlimited=100) == 10
