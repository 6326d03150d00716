"""Requests that report lost processes and have their eta, made of the class that a task's requests have."""

from __future__ import annotations

import contextlib
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from billiard.einfo import ExceptionInfo
from billiard.exceptions import Terminated, WorkerLostError
from celery import Celery
from celery.concurrency.base import BasePool
from celery.exceptions import Reject
from celery.worker import state
from celery.worker.request import Request, create_request_cls
from kombu import Message
from kombu.exceptions import OperationalError

from delayhub.celery_support import job_store
from delayhub.celery_support.delayed_task import JOB_HEADER
from delayhub.celery_support.request import MakeOurRequests, OurRequest, ours
from delayhub.celery_support.unique_send import OF_RETRY
from delayhub.transport.channel import Channel
from delayhub.transport.envelope import DUE_HEADER
from delayhub.transport.unique_publish import UNIQUE_HEADER
from tests.marked_channel import Marked


class OwnRequest(Request):
    """As a project may have one."""


def test_a_projects_own_requests_stay_its_own_and_report_lost_processes_too() -> None:
    made = ours(OwnRequest)

    assert issubclass(made, OwnRequest)
    assert made.reject is OurRequest.reject
    assert made.__name__ == "OwnRequest"


def test_a_task_sees_the_eta_that_its_worker_does_not_wait_for() -> None:
    app = Celery("requests", set_as_current=False)

    @app.task(name="t", shared=False)
    def t() -> None:
        pass

    headers = {"id": "1", "task": "t", "eta": None}

    def made(**more: object) -> Request:
        message = Message(
            body="[[], {}, {}]",
            headers={**headers, **more},
            content_type="application/json",
            content_encoding="utf-8",
        )
        return OurRequest(message, app=app)

    waited = made(**{DUE_HEADER: 1_700_000_000_250})
    assert waited.request_dict["eta"] == "2023-11-14T22:13:20.250000+00:00"
    assert waited.eta is None
    assert made().request_dict["eta"] is None
    app.close()


def test_a_class_that_is_ours_already_stays_as_it_is() -> None:
    assert ours(Request) is OurRequest
    assert ours(ours(OwnRequest)).__mro__.count(OurRequest) == 1


def failure(error: BaseException) -> ExceptionInfo:
    """What the pool hands over when a task raised, or its process was lost."""
    try:
        raise error
    except type(error):
        return ExceptionInfo()


def test_a_message_whose_process_was_lost_gets_a_strike(request_of: OurRequest, channel: Marked) -> None:
    request_of.on_failure(failure(WorkerLostError("signal 9")), send_failed_event=False)

    assert (channel.lost, channel.rejected) == (["7"], [("7", True)])


def test_a_task_that_asks_to_be_put_back_gets_none(request_of: OurRequest, channel: Marked) -> None:
    request_of.on_failure(failure(Reject("not yet", requeue=True)), send_failed_event=False)

    assert (channel.lost, channel.rejected) == ([], [("7", True)])


@pytest.mark.parametrize(("soft", "lost"), [(True, []), (False, ["7"])])
def test_a_hard_time_limit_kills_the_process_and_a_soft_one_does_not(
    soft: bool, lost: list[str], request_of: OurRequest, channel: Marked
) -> None:
    request_of._loses_child = not soft

    request_of.reject(requeue=True)

    assert channel.lost == lost


@pytest.mark.parametrize(
    ("soft", "terminates", "told"), [(False, None, [("job-1", 1.5)]), (True, None, []), (False, True, [])]
)
def test_a_hard_time_limit_is_reported_to_the_store_of_the_job(
    soft: bool, terminates: bool | None, told: list[object], request_of: OurRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[object] = []

    class Store:
        def time_limit_exceeded(self, job_id: str, *, worker: str, seconds: float) -> None:
            found.append((job_id, seconds))

    monkeypatch.setattr(job_store._Registry, "store", Store())
    monkeypatch.setattr(state, "should_terminate", terminates)
    request_of.request_dict[JOB_HEADER] = "job-1"

    request_of.on_timeout(soft, 1.5)

    for thread in threading.enumerate():
        if thread.name == "delayhub-time-limit":
            thread.join(60)
    assert found == told


@pytest.mark.parametrize(
    ("until", "counts", "holds", "acks_late", "kept", "early"),
    [
        ("end", False, True, False, ["keep 7", "end 7"], []),
        ("end", True, True, True, [], []),
        ("start", False, True, False, [], ["7"]),
        ("start", True, True, False, ["keep 7", "end 7"], []),
        ("start", True, False, False, ["keep 7"], ["7"]),  # its lease is lost
    ],
)
def test_a_task_that_acks_early_keeps_a_key_and_a_place_that_it_has_until_its_end(
    until: str,
    counts: bool,
    holds: bool,
    acks_late: bool,
    kept: list[str],
    early: list[str],
    request_of: OurRequest,
    channel: Marked,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(OurRequest, "runs_here", True)
    request_of.task.acks_late = acks_late
    channel.counts, channel.holds = counts, holds
    request_of.request_dict[UNIQUE_HEADER] = {"key": "a", "until": until, "ms": 0}

    request_of.on_accepted(1, 0.0)
    assert (channel.kept, channel.early) == (kept[:1], early)

    request_of.on_failure(failure(ValueError("no")), send_failed_event=False)
    assert (channel.kept, channel.early) == (kept, early)


def test_at_a_cold_shutdown_the_worker_kills_its_children_itself(
    request_of: OurRequest, channel: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "should_terminate", True)
    request_of._loses_child = True

    request_of.reject(requeue=True)

    assert (channel.lost, channel.rejected) == ([], [("7", True)])


@pytest.mark.parametrize(
    ("is_of_retry", "is_acknowledged", "later", "rejected"),
    [(True, False, [(["7"], 60_000)], []), (True, True, [], []), (False, False, [], [("7", False)])],
)
def test_a_task_that_could_not_publish_its_retry_waits_and_comes_again(
    is_of_retry: bool,
    is_acknowledged: bool,
    later: list[object],
    rejected: list[object],
    request_of: OurRequest,
    channel: Marked,
) -> None:
    error = OperationalError("Redis is full")
    if is_of_retry:
        vars(error)[OF_RETRY] = True
    request_of.acknowledged = is_acknowledged
    state.task_accepted(request_of)

    request_of.on_failure(failure(Reject(error, requeue=False)), send_failed_event=False)

    assert (channel.later, channel.rejected, channel.lost) == (later, rejected, [])
    assert request_of.acknowledged
    assert request_of not in state.active_requests
    assert channel.freed == 1


def made_for_task(request: OurRequest) -> OurRequest:
    """The same request, of the class that Celery makes for its task."""
    kind: Any = create_request_cls(OurRequest, request.task, BasePool(), request.hostname, None)
    made: OurRequest = kind(request.message, app=request.app, task=request.task, on_reject=request.on_reject)
    return made


@pytest.mark.parametrize("error", [None, OSError])
def test_a_task_that_is_cancelled_with_the_connection_goes_back_at_once(
    error: type[Exception] | None, request_of: OurRequest, channel: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancel(*_: Any) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(Request, "cancel", cancel)

    with contextlib.suppress(OSError):
        request_of.cancel(None)

    assert (channel.lost, channel.rejected) == ([], [("7", True)])


@pytest.mark.parametrize("error", [Terminated("-15"), WorkerLostError("signal 15"), SystemExit(0)])
def test_a_cancelled_task_goes_back_without_a_strike_when_its_process_has_ended(
    error: BaseException, request_of: OurRequest, channel: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Request, "cancel", lambda *_: None)
    monkeypatch.setattr(state, "should_terminate", True)

    request_of.cancel(None)
    assert channel.rejected == []

    request_of.on_failure(failure(error))
    assert (channel.lost, channel.rejected, channel.freed) == ([], [("7", True)], 1)


@pytest.mark.parametrize("answer", [(0, "None", 1.5), (1, failure(ValueError("no")), 1.5)])
def test_a_cancelled_task_that_had_ended_is_acknowledged(
    answer: tuple[object, ...], request_of: OurRequest, channel: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Request, "cancel", lambda *_: None)
    monkeypatch.setattr(state, "should_terminate", True)
    done = made_for_task(request_of)

    done.cancel(None)
    done.on_success(answer)

    assert (done.acknowledged, channel.rejected) == (True, [])
    assert channel.freed > 0


def test_a_greenlet_that_was_killed_gives_its_message_back(
    request_of: OurRequest, channel: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Request, "cancel", lambda *_: None)
    monkeypatch.setattr(state, "should_terminate", True)
    done = made_for_task(request_of)

    done.cancel(None)
    done.on_success((False, None, None))

    assert (channel.lost, channel.rejected, channel.freed) == ([], [("7", True)], 1)


def test_a_task_that_its_pool_cannot_end_goes_on(request_of: OurRequest, channel: Marked) -> None:
    request_of.time_start = 1.0

    request_of.cancel(BasePool())
    request_of.on_failure(failure(WorkerLostError("signal 9")), send_failed_event=False)

    assert (channel.lost, channel.rejected) == (["7"], [("7", True)]), "as one that was not cancelled"


def test_no_task_starts_once_its_worker_ends_cold(
    request_of: OurRequest, channel: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OurRequest, "runs_here", True)
    monkeypatch.setattr(state, "should_terminate", True)

    request_of.on_accepted(1, 0.0)

    assert request_of.run(lambda: 1 / 0) is None
    assert (request_of.time_start, channel.early) == (None, [])


@pytest.mark.parametrize("is_prefork", [True, False])
def test_every_task_of_a_worker_gets_our_requests(is_prefork: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OurRequest, "runs_here", OurRequest.runs_here)
    app = Celery("requests", set_as_current=False)

    @app.task(name="t", shared=False)
    def t() -> None:
        pass

    pool = SimpleNamespace(uses_semaphore=is_prefork, apply_async=print)

    MakeOurRequests(SimpleNamespace(app=app, pool=pool))

    assert issubclass(app.tasks["t"].Request, OurRequest)
    assert OurRequest.runs_here is not is_prefork
    assert (pool.apply_async is print) is is_prefork
    app.close()


@pytest.mark.parametrize(("is_prefork", "threads", "asked"), [(False, 2, [2]), (False, 100, [4]), (True, 2, [])])
def test_connections_for_early_acknowledgements_are_asked_for_before_the_first_task(
    is_prefork: bool, threads: int, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OurRequest, "runs_here", OurRequest.runs_here)
    found: list[int] = []
    channel = object.__new__(Channel)
    monkeypatch.setattr(channel, "book", SimpleNamespace(prepare=found.append), raising=False)
    pool = SimpleNamespace(uses_semaphore=is_prefork, apply_async=print, limit=threads)
    worker = SimpleNamespace(
        app=SimpleNamespace(tasks={}), pool=pool, connection=SimpleNamespace(default_channel=channel)
    )

    MakeOurRequests(worker).start(worker)

    assert found == asked


def test_a_task_is_quick_after_ten_quick_runs_in_a_row_of_the_class_that_celery_makes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Made(OurRequest):
        """As Celery makes one for each task."""

        def on_success(self, failed__retval__runtime: Any, **options: Any) -> None:
            pass

    monkeypatch.setattr(OurRequest, "runs_here", True)
    monkeypatch.setattr(OurRequest, "quick_runs", {})
    request = object.__new__(Made)
    request._task = SimpleNamespace(name="t")
    request._message = SimpleNamespace(channel=None)

    for seconds in (0.001, None, 0.001, 3.0, 0.001, None):  # None: of a task that was rejected
        request.on_success((0, None, seconds))

    assert OurRequest.quick_runs == {"t": 1}
