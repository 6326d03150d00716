"""A worker's consumer that puts what it cannot run with the dead, instead of dropping it or ending."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery, signals
from kombu import Message

from delayhub.celery_support.message_fault import BuryUnreadable

GOOD = {"task": "t", "id": "1"}


class Consumer:
    """As Celery's worker has one: it makes the handler of its messages, and has methods for those it refuses."""

    connection_errors: tuple[type[Exception], ...] = (ConnectionError,)
    channel_errors: tuple[type[Exception], ...] = (KeyError,)

    def __init__(self, broker: str) -> None:
        self.app = Celery("consumer", broker=broker, set_as_current=False)
        self.handled: list[Message] = []
        self.dropped: list[Any] = []
        self.on_decode_error = self.on_invalid_task = self.on_unknown_message = lambda *said: self.dropped.append(said)

    def create_task_handler(self) -> Any:
        return self.handled.append


@pytest.fixture
def buried() -> list[tuple[str, str]]:
    """What went to the dead: delivery tags and reasons."""
    return []


@pytest.fixture
def rejected() -> Iterator[list[str]]:
    """The delivery tags of messages of which Celery's signal says that they were rejected."""
    found: list[str] = []

    def note(message: Message, **_: Any) -> None:
        found.append(message.delivery_tag)

    signals.task_rejected.connect(note)
    yield found
    signals.task_rejected.disconnect(note)


def message(buried: list[tuple[str, str]], headers: Any, body: str = "[[], {}, {}]") -> Message:
    reader = SimpleNamespace(bury_delivered=lambda tag, *, reason: buried.append((tag, reason)))
    channel: Any = SimpleNamespace(reader=reader, no_ack_consumers=None, basic_reject=lambda tag, requeue: None)
    return Message(
        body=body,
        headers=headers,
        content_type="application/json",
        content_encoding="utf-8",
        delivery_tag="7",
        channel=channel,
    )


def test_a_good_message_is_handled_and_a_spoilt_one_is_dead_with_the_reason(
    buried: list[tuple[str, str]], rejected: list[str]
) -> None:
    consumer = Consumer("delayhub://localhost/0")
    BuryUnreadable(consumer)
    handle = consumer.create_task_handler()
    good = message(buried, GOOD)

    handle(good)
    handle(message(buried, GOOD | {"timelimit": "abc"}))

    assert consumer.handled == [good]
    assert buried == [("7", "unreadable: its timelimit is not two numbers of seconds: 'abc'")]
    assert rejected == ["7"]


def test_what_celery_would_drop_is_dead_too(buried: list[tuple[str, str]], rejected: list[str]) -> None:
    consumer: Any = Consumer("delayhub://localhost/0")
    BuryUnreadable(consumer)

    consumer.on_decode_error(message(buried, GOOD), ValueError("no gzip"))
    consumer.on_invalid_task(None, message(buried, GOOD), ValueError("no date"))
    consumer.on_unknown_message(None, message(buried, {}))

    reasons = ["unreadable: ValueError: no gzip", "unreadable: ValueError: no date", "unreadable: it names no task"]
    assert [reason for _, reason in buried] == reasons
    assert (consumer.dropped, len(rejected)) == ([], 3)


def failing(error: Exception, harmless: type[Exception] = ConnectionError) -> Any:
    """The handler of a worker that an error ends, unless it is one after which it connects again."""

    def fail(_: Message) -> None:
        raise error

    consumer: Any = Consumer("delayhub://localhost/0")
    consumer.connection_errors = (harmless,)
    consumer.create_task_handler = lambda: fail
    BuryUnreadable(consumer)
    return consumer.create_task_handler()


@pytest.mark.parametrize(("error", "struck"), [(ValueError(), ["7"]), (ConnectionError(), []), (KeyError(), [])])
def test_a_message_that_ends_the_worker_gets_a_strike_and_one_after_which_it_connects_again_none(
    error: Exception, struck: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    given, lost, back = message([], GOOD), [], []
    given.channel.mark_process_lost = lost.append
    given.channel.basic_reject = lambda tag, requeue: back.append((tag, requeue))

    with pytest.raises(type(error)):
        failing(error)(given)

    assert (lost, back) == (struck, [(tag, True) for tag in struck])
    assert ("task t[1] ends this worker" in caplog.text) is bool(struck)


def test_a_message_that_was_acknowledged_before_it_ended_the_worker_does_not_go_back() -> None:
    given = message([], GOOD)
    given.channel.basic_ack = lambda tag, multiple: None
    given.ack()

    with pytest.raises(ValueError, match="the worker's end"):
        failing(ValueError("the worker's end"))(given)


def test_messages_of_another_transport_are_celerys() -> None:
    consumer = Consumer("redis://localhost/0")

    BuryUnreadable(consumer)

    assert consumer.create_task_handler() == consumer.handled.append
    assert consumer.on_invalid_task is consumer.on_decode_error  # as the consumer made them
