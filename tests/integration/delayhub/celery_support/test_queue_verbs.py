"""Verbs over messages that are named, and over as many of a place as the time allows."""

from __future__ import annotations

import json

import pytest
import redis
from celery import Celery

from delayhub.celery_support import queue_verbs
from delayhub.celery_support.queue_verbs import addressed, over_place, redrive, reschedule, transfer
from delayhub.engine import Counts, DelayQueue, Entry, Place
from tests.redis_time import redis_now_ms

YEAR_2096_MS = 4_000_000_000_000


class Steps:
    """A clock of which each look takes a second."""

    def __init__(self) -> None:
        self.at = 0.0

    def now_ms(self) -> int:
        return int(self.at * 1000)

    def monotonic(self) -> float:
        self.at += 1.0
        return self.at


def bury_all(queue: DelayQueue) -> None:
    while entries := queue.claim(1000).entries:
        queue.bury([queue.lease(entry.id, entry.token) for entry in entries], reason="broken")


def test_a_task_that_is_moved_says_that_it_was_sent_there(app: Celery, queue: DelayQueue) -> None:
    sent = app.send_task("shop.close", ["o-1"], countdown=1000)
    other = DelayQueue(queue.client, "other")

    assert transfer(queue, [sent.id, "gone"], to=other) == 1

    [moved] = other.list("waiting", payloads=True)
    assert json.loads(moved.payload or b"")["properties"]["delivery_info"]["routing_key"] == "other"
    assert queue.count() == Counts(0, 0, 0, 0)
    assert "other" in app.control.counts()


def test_a_queue_is_not_moved_to_itself(queue: DelayQueue) -> None:
    queue.schedule([Entry("a", payload=b"1")])

    assert transfer(queue, ["a"], to=queue) == 0
    assert queue.count().ready == 1


def test_what_cannot_be_read_is_moved_as_it_is() -> None:
    assert addressed(b"\xff", "other") == b"\xff"
    assert addressed(b'{"properties": []}', "other") == b'{"properties": []}'


def test_tasks_are_moved_to_another_time_or_to_now(queue: DelayQueue, redis_client: redis.Redis) -> None:
    queue.schedule([Entry("a", YEAR_2096_MS, b"1"), Entry("b", YEAR_2096_MS, b"1")])

    assert reschedule(queue, ["a", "gone"], due_ms=redis_now_ms(redis_client) + 60_000) == 1
    assert reschedule(queue, ["b"], due_ms=0) == 1

    assert queue.count() == Counts(1, 1, 0, 0)


def test_dead_ones_are_redriven_by_their_ids_and_none_without_any(queue: DelayQueue) -> None:
    queue.schedule([Entry("a", payload=b"1"), Entry("b", payload=b"1")])
    bury_all(queue)

    assert redrive(queue, []) == 0
    assert redrive(queue, ["a"]) == 1
    assert queue.count() == Counts(0, 1, 0, 1)


def test_a_whole_place_is_done_and_nothing_is_left(queue: DelayQueue) -> None:
    queue.schedule([Entry(f"{number}", payload=b"1") for number in range(950)])
    bury_all(queue)

    assert over_place(queue, Place.DEAD, lambda ids: redrive(queue, ids)) == (950, 0)
    assert queue.count() == Counts(0, 950, 0, 0)


def test_copies_that_go_with_a_place_are_none_that_are_left(queue: DelayQueue) -> None:
    queue.schedule([Entry("a", payload=b"1")])
    queue.schedule([Entry("a", YEAR_2096_MS, payload=b"2")])

    assert over_place(queue, Place.READY, lambda ids: sum(queue.cancel(ids))) == (2, 0)


def test_when_the_time_is_over_it_says_how_many_are_left(queue: DelayQueue) -> None:
    queue.schedule([Entry(f"{number}", payload=b"1") for number in range(950)])
    bury_all(queue)

    done, left = over_place(queue, Place.DEAD, lambda ids: redrive(queue, ids), clock=Steps())

    assert 0 < done < 950
    assert done + left == 950


def test_those_that_cannot_be_done_do_not_stand_before_the_others(
    queue: DelayQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_verbs, "MOST_MESSAGES", 10)
    queue.schedule([Entry(f"{number:02}", payload=b"1") for number in range(45)])
    bury_all(queue)
    dead = [listed.id for listed in queue.list(Place.DEAD)]

    outcome = over_place(queue, Place.DEAD, lambda ids: redrive(queue, [each for each in ids if each not in dead[:35]]))

    assert outcome == (10, 35)


def test_a_whole_queue_is_moved_to_a_time_in_several_calls_and_none_is_moved_twice(
    queue: DelayQueue,
) -> None:
    queue.schedule([Entry(f"{number:04}", YEAR_2096_MS - number, b"1") for number in range(500)])
    due_ms = YEAR_2096_MS - 10_000
    calls = []

    while True:
        outcome = over_place(
            queue,
            Place.WAITING,
            lambda ids: reschedule(queue, ids, due_ms=due_ms),
            but_at_ms=due_ms,
            clock=Steps(),
        )
        calls.append(outcome)
        if not outcome.left:
            break

    assert sum(outcome.done for outcome in calls) == 500
    assert len(calls) > 1
    assert {listed.at_ms for listed in queue.list("waiting", limit=1000)} == {due_ms}
