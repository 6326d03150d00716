"""Compact messages on a real broker: published each way, listed, moved, limited, consumed, taken back to kombu."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from celery import Celery
from kombu import Connection

import delayhub
from delayhub.celery_support.queue_browser import QueueBrowser
from delayhub.celery_support.queue_verbs import transfer
from delayhub.engine import DelayQueue, Place
from delayhub.engine.limits import Limit, parked_counts, set_limits
from delayhub.transport.envelope import from_payload
from delayhub.transport.kombu_migration import KombuBroker
from tests.consuming import take_all

#: What no two messages have in common.
OWN = {"id", "root_id", "correlation_id", "delivery_tag"}


@pytest.fixture
def compact_app(app: Celery) -> Celery:
    app.conf.broker_transport_options = {"compact": True}
    return app


@pytest.fixture
def close(compact_app: Celery) -> Any:
    return compact_app.tasks["shop.close"]


@pytest.fixture
def browser(compact_app: Celery) -> Iterator[QueueBrowser]:
    made = QueueBrowser(compact_app.connection_for_write())
    yield made
    made.close()


def payloads(queue: DelayQueue) -> list[bytes]:
    return [listed.payload or b"" for listed in queue.list("ready", payloads=True)]


def alike(message: dict[str, Any]) -> dict[str, Any]:
    parts = ("headers", "properties")
    return {part: {name: value for name, value in message[part].items() if name not in OWN} for part in parts}


def test_all_ways_of_publishing_make_the_same_compact_messages(close: Any, queue: DelayQueue) -> None:
    close.delay("o-1")
    delayhub.publish_many(close, [("o-1",), ("o-1",)])

    found = payloads(queue)
    assert [payload[-1] for payload in found] == [1, 1, 1]
    first, *others = [alike(from_payload(payload)) for payload in found]
    assert others == [first, first]
    assert max(map(len, found)) < 200


def test_a_consumer_gets_what_was_sent_and_a_publish_that_is_sent_again_is_stored_once(
    close: Any, compact_app: Celery, queue: DelayQueue
) -> None:
    ids = delayhub.publish_many(close, [("o-1",)]).ids
    with compact_app.connection_for_write() as connection:
        [listed] = queue.list("ready", payloads=True)
        entry = connection.default_channel.entry(from_payload(listed.payload or b""))
        assert [found.outcome for found in queue.schedule([entry])] == ["repeated"]

        [message] = take_all(connection, "celery")

    assert message.payload[0] == ["o-1"]
    assert message.headers["id"] == ids[0]
    assert queue.count() == (0, 0, 0, 0, 0)


def test_people_see_and_move_them_as_any_other(close: Any, browser: QueueBrowser, queue: DelayQueue) -> None:
    sent = close.apply_async(("o-1",), countdown=1000)

    [task] = browser.page("celery", Place.WAITING)
    moved = transfer(queue, [sent.id], to=browser.queue("reports"))

    assert (task.task_id, task.task, task.args) == (sent.id, "shop.close", "('o-1',)")
    assert moved == 1
    [there] = browser.find("reports", sent.id)
    assert (there.task, there.args) == ("shop.close", "('o-1',)")


def test_the_limit_of_their_task_counts(close: Any, queue: DelayQueue) -> None:
    set_limits(queue, "declared", {"shop.close": Limit(3_600_000_000)})
    delayhub.publish_many(close, [("o-1",), ("o-2",)])

    taken = queue.claim(10).entries

    assert len(taken) == 1
    assert parked_counts(queue) == {"shop.close": 1}


def test_kombus_own_transport_gets_them_in_its_form(close: Any, compact_app: Celery, redis_client: redis.Redis) -> None:
    sent = close.delay("o-1")
    address = redis_client.connection_pool.connection_kwargs
    with compact_app.connection_for_write() as ours, Connection(f"redis://127.0.0.1:{address['port']}/0") as old:
        moved = KombuBroker(old.default_channel).take_back(["celery"], ours.default_channel)

    assert moved == 1
    [raw] = redis_client.lrange("celery", 0, -1)  # type: ignore[misc]  # redis-py's types know asynchronous clients too
    assert json.loads(raw)["headers"]["id"] == sent.id
