"""The broker as pages look at it, and verbs over its messages."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from celery import Celery

from delayhub.engine import Counts, DelayQueue, Entry
from tasksapp.queues.celery_broker import CeleryBroker, NoBroker, Place, QueueVerb, celery_broker

YEAR_2096_MS = 4_000_000_000_000


@pytest.fixture
def queue(redis_client: redis.Redis) -> DelayQueue:
    return DelayQueue(redis_client, "celery")


def apply(verb: QueueVerb, place: Place, ids: list[str] | None = None, **more: Any) -> Any:
    with celery_broker() as found:
        assert isinstance(found, CeleryBroker)
        return found.apply(verb, "celery", place=place, ids=ids, **more)


def test_the_queues_of_the_settings_and_the_lanes_are_there_before_anything_was_sent(app: Celery) -> None:
    with celery_broker() as found:
        assert isinstance(found, CeleryBroker)
        assert found.names() == ["celery", "delayhub.timers"]
        assert [found.is_lane(name) for name in found.names()] == [False, True]
        assert found.can_revoke


def test_a_copy_is_revoked_by_the_id_of_its_task(app: Celery, queue: DelayQueue) -> None:
    sent = app.send_task("shop.close", countdown=1000)
    app.send_task("shop.close", countdown=1000, task_id=sent.id)

    outcome = apply(QueueVerb.REVOKE, Place.WAITING, [f"{sent.id}#1"])

    assert outcome == (2, 0)
    assert queue.count() == Counts(0, 0, 0, 0)


def test_a_message_that_is_not_named_by_its_tasks_id_is_revoked_too(app: Celery, queue: DelayQueue) -> None:
    app.send_task("shop.close", countdown=1000, task_id="x" * 300)
    [stored] = queue.list("waiting")

    assert apply(QueueVerb.REVOKE, Place.WAITING, [stored.id]) == (1, 0)

    assert queue.count() == Counts(0, 0, 0, 0)


def test_what_a_worker_holds_stays_when_it_is_revoked_and_its_id_is_marked(app: Celery, queue: DelayQueue) -> None:
    queue.schedule([Entry("a")])
    queue.claim()

    assert apply(QueueVerb.REVOKE, Place.LEASED, ["a"]) == (1, 0)

    assert queue.count() == Counts(0, 0, 1, 0)
    assert queue.client.zscore(queue.keys.revoked, "a")


def test_a_whole_place_is_made_due_now(app: Celery, queue: DelayQueue) -> None:
    queue.schedule([Entry(f"m{number}", YEAR_2096_MS) for number in range(300)])

    assert apply(QueueVerb.RUN_NOW, Place.WAITING) == (300, 0)
    assert queue.count() == Counts(0, 300, 0, 0)


def test_each_verb_knows_what_it_can_be_done_to() -> None:
    assert QueueVerb.REDRIVE.places == (Place.DEAD,)
    assert [verb for verb in QueueVerb if Place.LEASED in verb.places] == [QueueVerb.REVOKE]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("amqp://guest:guest@localhost//", "Celery's broker is amqp://"),
        ("sqs://", "This process cannot look at Celery's queues"),
        ("delayhub://one:1/0;delayhub://two:1/0", "names several servers"),
        ("nonsense://", "nonsense"),
    ],
)
def test_why_there_is_nothing_to_look_at_is_said(url: str, why: str, current_celery: Celery) -> None:
    current_celery.conf.broker_url = url

    with celery_broker() as found:
        assert isinstance(found, NoBroker)
        assert why in found.sentence
        assert "guest" not in found.sentence


def test_a_connection_is_closed_with_the_page(app: Celery, redis_client: redis.Redis) -> None:
    before = redis_client.info("clients")["connected_clients"]

    with celery_broker() as found:
        assert isinstance(found, CeleryBroker)
        found.names()

    assert redis_client.info("clients")["connected_clients"] <= before
