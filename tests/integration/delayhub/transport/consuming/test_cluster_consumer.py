"""Which of a queue's slots claims first, where there is less credit than slots."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue

from tests.cluster import LocalCluster
from tests.consuming import drain

Prepare = Callable[[list[Any]], None]


def has_more(lanes: list[Any]) -> None:
    """Of one slot more is known, others rang."""
    for lane in lanes[:-1]:
        lane.wanted = True
    lanes[-1].more = True


def has_rung(lanes: list[Any]) -> None:
    """One slot rang, it is time to ask the others."""
    for lane in lanes[:-1]:
        lane.next_claim_at = 0.0
    lanes[-1].wanted = True


def was_asked_before(lanes: list[Any]) -> None:
    """All rang; one was asked longest ago."""
    for lane in lanes:
        lane.wanted = True
    lanes[-1].claims.sent_at -= 60


@pytest.mark.parametrize("prepare", [has_more, has_rung, was_asked_before])
@pytest.mark.parametrize("place", [0, 3])
def test_with_less_credit_than_slots_first_come_those_that_said_more_then_those_that_rang(
    cluster: LocalCluster, prepare: Prepare, place: int
) -> None:
    queue = Queue("q", routing_key="q", queue_arguments={"x-delayhub-slots": 4})
    with Connection(cluster.url) as connection:
        channel = connection.channel()
        channel.basic_qos(0, 1)
        with Consumer(channel, [queue], on_message=print):
            drain(connection, until=lambda: have_claimed(channel, 4))
            lanes = list(channel.consumer.lanes.values())
            for lane in lanes:
                lane.more, lane.wanted, lane.next_claim_at = False, False, math.inf

            first = lanes.pop(place)
            prepare([*lanes, first])
            channel.consumer.turn()

            assert [lane.lane for lane in channel.consumer.lanes.values() if lane.claims.sent] == [first.lane]


def have_claimed(channel: Any, count: int) -> bool:
    """Whether so many slots were asked, and no claim is under way."""
    lanes = channel.consumer.lanes.values() if channel.consumer else ()
    return len(lanes) == count and all(lane.claims.sent_at and not lane.claims.sent for lane in lanes)
