"""Tasks that no worker runs to the end: their results say so, and errbacks are called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery

import delayhub
from delayhub.celery_support.task_results import announce_dead, announce_revoked, request_of
from delayhub.local.redis_server import RedisServer
from delayhub.transport.channel import Channel


@pytest.fixture
def app(broker: str, redis_server: RedisServer) -> Iterator[Celery]:
    """An app whose results are on another database of the same Redis."""
    results = redis_server.url.removesuffix("/0") + "/1"
    made = Celery("shop", broker=broker, backend=results, set_as_current=False)
    delayhub.install(made)
    yield made
    made.close()


@pytest.fixture
def channel(app: Celery) -> Iterator[Channel]:
    with app.connection_for_write() as connection:
        yield connection.default_channel


def payload_of(app: Celery, channel: Channel, **options: Any) -> bytes:
    """The payload of a task message as the broker has it."""
    app.send_task("shop.close", ["order-1"], task_id="t", **options)
    (ready,) = channel.queue("celery").list("ready", payloads=True)
    return ready.payload


def test_a_revoked_task_has_a_result_that_says_so(app: Celery, channel: Channel) -> None:
    announce_revoked(app, channel, "t", payload_of(app, channel))

    assert app.AsyncResult("t").state == "REVOKED"


def test_a_revoked_task_whose_result_is_ignored_stores_none(app: Celery, channel: Channel) -> None:
    announce_revoked(app, channel, "t", payload_of(app, channel, ignore_result=True))

    assert app.AsyncResult("t").state == "PENDING"


@pytest.mark.parametrize("payload", [b"?", b'{"properties": {}, "headers": {}, "body": "not json"}'])
def test_a_revoked_message_that_cannot_be_read_ends_all_the_same(payload: bytes, app: Celery, channel: Channel) -> None:
    announce_revoked(app, channel, "t", payload)

    assert app.AsyncResult("t").state == "REVOKED"


def test_a_dead_task_failed_with_the_reason(app: Celery, channel: Channel) -> None:
    payload_of(app, channel)
    message = channel.basic_get("celery")

    announce_dead(app, message, "lost its process 3 times")

    result = app.AsyncResult("t")
    assert result.state == "FAILURE"
    assert str(result.result) == "lost its process 3 times"
    message.ack()


def test_the_errback_of_a_dead_task_that_takes_only_its_id_is_called(app: Celery, channel: Channel) -> None:
    @app.task(name="shop.sorry", shared=False)
    def sorry(task_id: str) -> None:
        del task_id

    payload_of(app, channel, link_error=sorry.s())
    message = channel.basic_get("celery", no_ack=True)

    announce_dead(app, message, "lost its process 3 times")

    called = channel.basic_get("celery", no_ack=True)
    assert (called.headers["task"], called.payload[0]) == ("shop.sorry", ["t"])


def test_a_dead_message_that_is_no_task_has_no_result(app: Celery, channel: Channel) -> None:
    message = channel.Message(
        {"body": "", "headers": {}, "properties": {"delivery_tag": "1"}, "content-type": "text/plain"}, channel=channel
    )

    announce_dead(app, message, "lost its process")

    assert app.backend.client.dbsize() == 0


def test_a_request_knows_what_waits_for_its_task(app: Celery, channel: Channel) -> None:
    after = app.signature("shop.after")
    payload_of(app, channel, link_error=app.signature("shop.sorry"), chain=[after])
    message = channel.basic_get("celery")

    request = request_of(app, message, "t")

    assert request.id == "t"
    assert [errback["task"] for errback in request.errbacks] == ["shop.sorry"]
    assert [link["task"] for link in request.chain] == ["shop.after"]
    assert json.loads(message.body)[0] == ["order-1"]
    message.ack()


def test_of_a_message_that_is_gone_a_request_knows_only_the_id(app: Celery) -> None:
    request = request_of(app, None, "t")

    assert (request.id, request.chord, request.chain, request.errbacks) == ("t", None, None, None)
