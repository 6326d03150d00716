"""Requests of a worker, on a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from billiard.einfo import ExceptionInfo
from billiard.exceptions import WorkerLostError
from celery import Celery

import delayhub
from delayhub.celery_support.request import OurRequest
from delayhub.engine import Counts, DelayQueue
from delayhub.engine.key_holders import look_at_keys
from tests.celery_versions import needs_retry_on_worker_lost


@pytest.fixture
def app(broker: str) -> Iterator[Celery]:
    """An app with a unique task, which is tried again where its process is lost."""
    made = Celery("requests", broker=broker, backend="cache+memory://", set_as_current=False)
    delayhub.install(made)
    yield made
    made.close()


def lost_process() -> ExceptionInfo:
    """What the pool hands over when the process of a task was killed."""
    error = WorkerLostError("killed")
    try:
        raise error
    except WorkerLostError:
        return ExceptionInfo()


@needs_retry_on_worker_lost
@pytest.mark.parametrize("acks_late", [True, False])
def test_a_unique_task_whose_process_was_lost_is_tried_again_under_its_key(
    app: Celery, queue: DelayQueue, acks_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OurRequest, "runs_here", False)

    def close(order: int) -> None:
        del order

    task: Any = app.task(
        close, name="shop.close", unique=True, acks_late=acks_late, retry_on_worker_lost=True, shared=False
    )
    call = task.delay(7)
    with app.connection_for_read() as connection, connection.channel() as channel:
        message = channel.basic_get("celery")
        request = OurRequest(message, app=app, task=task, on_ack=message.ack_log_error)
        request.on_accepted(1, 0.0)

        request.on_failure(lost_process(), send_failed_event=False)
        channel.book.flush()

        assert queue.count() == Counts(1, 0, 0, 0)
        (taken,) = look_at_keys(queue, limit=10).found
        assert taken.id.startswith(call.id)
        assert task.delay(7).id == call.id, "its key is taken"
