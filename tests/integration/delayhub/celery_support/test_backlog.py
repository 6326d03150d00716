"""What there is to do on a queue, also where no worker was there to move what came due."""

from __future__ import annotations

import pytest
import redis
from celery import Celery
from prometheus_client.parser import text_string_to_metric_families

from delayhub.celery_support.backlog import Backlog, as_prometheus, backlogs
from delayhub.engine import DelayQueue, Entry, Gate, TimerLane
from delayhub.engine.unique import UniqueKey, offer
from tests.waiting import wait_until

YEAR_2096_MS = 4_000_000_000_000


def test_what_came_due_without_a_worker_counts_as_due(app: Celery, queue: DelayQueue) -> None:
    app.send_task("shop.close", countdown=1.5)
    app.send_task("shop.close", countdown=1000)
    assert app.control.backlogs()["celery"] == Backlog(2, 0, 0, 0, 0.0)

    wait_until(lambda: app.control.backlogs()["celery"].due, otherwise="a task that is due")

    assert queue.count().ready == 0  # no worker has moved it
    found = app.control.backlogs("celery")["celery"]
    assert found[:4] == (1, 1, 0, 0)
    assert 0 <= found.late_seconds < 60


def test_each_place_is_counted_and_the_first_due_task_says_how_late_it_is(redis_client: redis.Redis) -> None:
    queue = DelayQueue(redis_client, "orders")
    queue.schedule([Entry("held", payload=b"?"), Entry("buried", payload=b"?")])
    for entry in queue.claim(2).entries:
        if entry.id == "buried":
            queue.bury([queue.lease(entry.id, entry.token)], reason="unreadable")
    queue.schedule([Entry("first", payload=b"?", step=3), Entry("far", YEAR_2096_MS, b"?")])
    before = backlogs(redis_client, [queue])["orders"].late_seconds
    queue.schedule([Entry("second", payload=b"?")])

    found = backlogs(redis_client, [queue])["orders"]

    assert found[:4] == (1, 2, 1, 1)
    assert found.late_seconds > before > 0


def test_the_backlog_of_a_timer_lane_counts_its_timers(redis_client: redis.Redis) -> None:
    lane = TimerLane(redis_client, "orders.timers")
    lane.ensure("close", [("due", 1_000), ("later", YEAR_2096_MS)])
    lane.ensure("remind", [("due too", 2_000)])

    found = backlogs(redis_client, [DelayQueue(redis_client, "orders.timers")])["orders.timers"]

    assert found[:4] == (1, 2, 0, 0)
    assert found.late_seconds > 1_000_000_000  # since 1970


@pytest.mark.heals
def test_what_claims_put_right_is_counted_of_queues_and_of_timer_lanes(redis_client: redis.Redis) -> None:
    queue, lane = DelayQueue(redis_client, "orders"), TimerLane(redis_client, "orders.timers")
    offer(queue, Entry("a", payload=b"?"), UniqueKey(key="order-7"))
    redis_client.delete(queue.keys.payload, queue.keys.ready(0))  # as in a queue that expires
    lane.set_gate("close", Gate(max_in_flight=1))
    redis_client.zadd(lane.keys.queue("close").in_flight, {"gone": 1})
    lane.ensure("close", [("due", 1_000)])

    assert offer(queue, Entry("b", payload=b"?"), UniqueKey(key="order-7")).outcome == "added"
    lane.claim()

    found = backlogs(redis_client, [queue, DelayQueue(redis_client, "orders.timers")])
    assert {name: backlog.healed for name, backlog in found.items()} == {"orders": 1, "orders.timers": 1}


def test_a_queue_that_never_was_has_nothing_to_do(redis_client: redis.Redis) -> None:
    assert backlogs(redis_client, [DelayQueue(redis_client, "none")]) == {"none": Backlog(0, 0, 0, 0, 0.0)}


def test_prometheus_reads_what_is_written_for_it() -> None:
    written = as_prometheus({'a "b"\\c': Backlog(1, 2, 3, 4, 5.5), "celery": Backlog(0, 0, 0, 0, 0.0)})

    read = {
        (sample.name, sample.labels["queue"]): sample.value
        for family in text_string_to_metric_families(written)
        for sample in family.samples
    }
    assert len(read) == 14
    assert read["delayhub_queue_due", 'a "b"\\c'] == 2
    assert read["delayhub_queue_late_seconds", 'a "b"\\c'] == 5.5
