from __future__ import annotations

from collections.abc import Iterator

import pytest
from celery import Celery
from celery.worker import state
from kombu import Message

from delayhub.celery_support.request import OurRequest
from tests.marked_channel import Marked


@pytest.fixture
def channel() -> Marked:
    return Marked()


@pytest.fixture
def request_of(channel: Marked, monkeypatch: pytest.MonkeyPatch) -> Iterator[OurRequest]:
    """The request of a task whose message is acknowledged late."""
    monkeypatch.setattr(state, "should_terminate", None)
    app = Celery("requests", set_as_current=False)

    @app.task(name="t", shared=False, acks_late=True, reject_on_worker_lost=True)
    def t() -> None:
        pass

    message = Message(
        body="[[], {}, {}]",
        headers={"id": "1", "task": "t"},
        content_type="application/json",
        content_encoding="utf-8",
        delivery_tag="7",
        channel=channel,
    )
    yield OurRequest(message, app=app, task=t, on_ack=lambda *_: None, on_reject=message.reject_log_error)
    app.close()
