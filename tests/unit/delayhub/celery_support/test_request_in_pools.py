"""Requests in pools that run tasks in the worker's own process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from celery.concurrency.base import BasePool
from celery.concurrency.solo import TaskPool as SoloPool
from celery.concurrency.thread import TaskPool as ThreadsPool
from celery.signals import worker_process_init
from celery.worker import state
from celery.worker.request import create_request_cls

from delayhub.celery_support.delayed_task import JOB_HEADER
from delayhub.celery_support.request import MakeOurRequests, OurRequest
from tests.marked_channel import Marked


def lost_connection(*_: Any, **__: Any) -> None:
    raise ConnectionError("the store of results is away")


@pytest.fixture(params=[SoloPool, ThreadsPool])
def pool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[BasePool]:
    """A pool that runs tasks in this process, of a worker of which DelayHub makes the requests."""
    monkeypatch.setattr(OurRequest, "runs_here", True)
    # A solo pool says that a worker's process begins, which would start a delivery for all tests to come.
    monkeypatch.setattr(worker_process_init, "receivers", [])
    made = request.param(limit=1)
    made.start()
    MakeOurRequests(SimpleNamespace(app=SimpleNamespace(tasks={}), pool=made))
    yield made
    made.stop()


@pytest.fixture
def run(request_of: OurRequest, pool: BasePool) -> Callable[..., OurRequest]:
    """Runs the task in the pool, as the class that Celery makes of its requests does it, until it has left the pool."""

    def run(target: Callable[..., Any] = lost_connection, *, acks_late: bool = True, events: Any = None) -> OurRequest:
        request_of.task.acks_late = acks_late
        made: Any = create_request_cls(
            OurRequest, request_of.task, pool, "w1", events, trace=target, app=request_of.app
        )
        message = request_of.message
        one = made(
            message,
            app=request_of.app,
            task=request_of.task,
            on_ack=lambda *_: None,
            on_reject=message.reject_log_error,
            eventer=events,
        )
        state.task_reserved(one)
        with contextlib.suppress(Exception):
            result = one.execute_using_pool(pool)
            if result is not None:
                result.wait(60)
        return one

    return run


@pytest.mark.parametrize(
    ("acks_late", "lost", "rejected", "kept"),
    [(True, ["7"], [("7", True)], []), (False, [], [], ["keep 7", "end 7"])],
)
def test_a_request_ends_that_leaves_its_pool_with_an_error_of_its_result_store(
    acks_late: bool,
    lost: list[str],
    rejected: list[object],
    kept: list[str],
    run: Callable[..., OurRequest],
    channel: Marked,
) -> None:
    channel.counts = True

    one = run(acks_late=acks_late)

    assert one not in state.active_requests
    assert one not in state.reserved_requests
    assert one.id not in state.requests
    assert (channel.lost, channel.rejected, channel.kept) == (lost, rejected, kept)
    assert channel.freed == 1


@pytest.mark.parametrize("acks_late", [True, False])
def test_a_task_whose_message_went_back_while_it_waited_for_a_thread_does_not_start(
    acks_late: bool, run: Callable[..., OurRequest], channel: Marked
) -> None:
    started: list[bool] = []
    channel.book.tags.clear()  # as a lost connection leaves it

    one = run(lambda *_: started.append(True), acks_late=acks_late)

    assert not started
    assert one not in state.active_requests
    assert (channel.rejected, channel.early, channel.kept) == ([], [], [])


def test_a_request_ends_whose_start_or_success_could_not_be_reported(
    run: Callable[..., OurRequest], channel: Marked
) -> None:
    for event in ("task-started", "task-succeeded"):

        def send(kind: str, event: str = event, **_: Any) -> None:
            if kind == event:
                raise ConnectionError("events cannot be sent")

        one = run(lambda *_: (0, "done", 0.1), events=SimpleNamespace(enabled=True, send=send))

        assert one not in state.active_requests

    # what was done stays acknowledged
    assert channel.rejected == [("7", True)]


def test_a_task_that_ends_its_process_in_a_pool_that_has_none_is_a_lost_one(
    run: Callable[..., OurRequest], channel: Marked
) -> None:
    def leave(*_: Any) -> None:
        raise SystemExit(1)

    one = run(leave)

    assert one not in state.active_requests
    assert (channel.lost, channel.rejected) == (["7"], [("7", True)])


def test_a_hard_time_limit_ends_a_request_whose_result_cannot_be_stored(
    request_of: OurRequest, channel: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr("delayhub.celery_support.request._fail_job", lambda job_id, *_: told.append(job_id))
    monkeypatch.setattr(type(request_of.task.backend), "mark_as_failure", lost_connection)
    request_of.request_dict[JOB_HEADER] = "job-1"
    state.task_accepted(request_of)

    with pytest.raises(ConnectionError):
        request_of.on_timeout(False, 1.5)

    for thread in threading.enumerate():
        if thread.name == "delayhub-time-limit":
            thread.join(60)
    assert request_of not in state.active_requests
    assert (channel.rejected, told) == ([("7", True)], ["job-1"])
