"""How long queues are: of messages, and of timers."""

from __future__ import annotations

from typing import Any

import redis

from delayhub.celery_support.backlog import count_queue
from delayhub.engine import Counts, SystemClock, TimerLane


def test_messages_are_counted(connection: Any) -> None:
    producer = connection.Producer()
    producer.publish({"order": 1}, routing_key="shop", declare=[connection.SimpleQueue("shop").queue])

    assert count_queue(connection.default_channel, "shop") == Counts(0, 1, 0, 0)


def test_the_timers_of_a_timer_lane_are_counted(connection: Any, redis_client: redis.Redis) -> None:
    lane, now = TimerLane(redis_client, "timers"), SystemClock().now_ms()
    lane.ensure("order.close", [("past", now - 60_000), ("leased", now - 120_000)])
    lane.ensure("order.remind", [("later", now + 3_600_000)])
    assert [batch.ids for batch in lane.claim(1).batches] == [["leased"]]

    assert count_queue(connection.default_channel, "timers") == Counts(waiting=1, ready=1, leased=1, dead=0)
    assert count_queue(connection.default_channel, "empty") == Counts(0, 0, 0, 0)
