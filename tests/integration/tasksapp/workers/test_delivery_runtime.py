"""What a worker process needs to deliver: made once, warmed up before the first job, closed with nothing left open."""

from __future__ import annotations

import os
import socket
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError

from delayhub.clock import SystemClock
from tasksapp.jobs.attempt_headers import attempt_headers
from tasksapp.jobs.claimer import Claimer
from tasksapp.models import Attempt, BizType, Job, Status
from tasksapp.workers import delivery_runtime as module
from tasksapp.workers.delivery_runtime import close_delivery_runtime, delivery_runtime, warm_up, worker_name
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.receiver import Receiver, answering
from tests.integration.tasksapp.stored_jobs import due

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("ends_delivery")]


def test_a_worker_is_named_by_its_host_and_process() -> None:
    assert worker_name() == f"{socket.gethostname()}:{os.getpid()}"


def test_there_is_one_for_a_process() -> None:
    first = delivery_runtime()

    assert delivery_runtime() is first
    close_delivery_runtime()
    assert delivery_runtime() is not first


@pytest.mark.parametrize(("before", "after"), [(0.005, 0.001), (0.02, 0.02)])
def test_threads_of_a_process_that_delivers_take_shorter_turns_unless_the_site_has_chosen(
    before: float, after: float
) -> None:
    own = sys.getswitchinterval()
    sys.setswitchinterval(before)
    try:
        delivery_runtime()

        assert sys.getswitchinterval() == pytest.approx(after)
    finally:
        sys.setswitchinterval(own)


def test_to_close_what_was_never_made_does_nothing() -> None:
    close_delivery_runtime()
    close_delivery_runtime()


def test_claimed_jobs_are_delivered_and_written(make_biz_type: MakeBizType, receiver: Receiver) -> None:
    make_biz_type("order.close", url=receiver.url())
    runtime, began = delivery_runtime(), SystemClock().monotonic()
    answer = runtime.claimer.claim_due([due()], now_ms=runtime.clock.now_ms())

    runtime.hand_over(answer, claimed_at=began)

    assert runtime.outcome_writer.wait_until_idle(20)
    assert Job.objects.get().status == Status.SUCCEEDED
    assert len(receiver.received) == 1


def test_when_it_closes_each_job_is_done_or_given_back(make_biz_type: MakeBizType, receiver: Receiver) -> None:
    make_biz_type("order.close", url=receiver.url())
    runtime = delivery_runtime()
    answer = runtime.claimer.claim_due([due() for _ in range(5)], now_ms=runtime.clock.now_ms())
    runtime.hand_over(answer, claimed_at=SystemClock().monotonic())

    close_delivery_runtime()

    statuses = Counter(Job.objects.values_list("status", flat=True))
    assert set(statuses) <= {Status.SUCCEEDED, Status.PENDING}
    assert statuses[Status.SUCCEEDED] == len(receiver.received)


def test_warming_up_claims_nothing(biz_type: BizType) -> None:
    due()

    warm_up()

    assert module._here.runtime is not None
    assert Job.objects.get().status == Status.PENDING


def test_a_database_that_does_not_answer_yet_is_no_reason_not_to_start(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OperationalError("the database starts")

    monkeypatch.setattr(Claimer, "claim_due", refuse)

    warm_up()

    assert "the database does not answer yet" in caplog.text


def test_a_forked_child_makes_its_own() -> None:
    delivery_runtime()
    child = os.fork()
    if not child:
        os._exit(0 if module._here.runtime is None and module._here.lock.acquire(timeout=5) else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_jobs_go_out_with_the_requests_of_their_own(
    make_biz_type: MakeBizType, receiver: Receiver, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "KEPT_EXCHANGES": "all"}
    with Receiver(answer=answering(307, Location=receiver.url("/redirected"))) as other:
        make_biz_type(
            "order.close",
            url=receiver.url(),
            url_hosts=f"127.0.0.1:{other.port}",
            headers={"X-Team": "orders"},
            auth="bearer",
            auth_secret="s3cret",
        )
        plain, headed = due(), due(request={"headers": {"X-Team": "returns", "Authorization": "Bearer mine"}})
        away = due(request={"url": other.url("/away"), "headers": {"X-Region": "eu"}})
        deliver([plain, headed, away])

    usual, own = sorted(receiver.received, key=lambda one: one.headers["X-Team"])
    assert (usual.headers["X-Team"], usual.headers["Authorization"]) == ("orders", "Bearer s3cret")
    assert (own.headers["X-Team"], own.headers["Authorization"]) == ("returns", "Bearer mine")
    (elsewhere,) = other.received
    assert (elsewhere.path, elsewhere.headers["X-Team"], elsewhere.headers["X-Region"]) == ("/away", "orders", "eu")
    # its credentials go to no other host, its redirect is not followed, and what is kept of the request is masked
    assert "Authorization" not in elsewhere.headers
    assert Job.objects.get(id=away).last_error.startswith("status 307")
    assert attempt_headers(Attempt.objects.get(job=headed))["Authorization"] == "Bearer (hidden)"
    assert Attempt.objects.get(job=away).request_line == f"POST {other.url('/away')}"


def test_a_url_that_is_not_allowed_any_more_gets_no_request(
    make_biz_type: MakeBizType, receiver: Receiver, settings: Any
) -> None:
    make_biz_type("order.close", url="https://shop.example/", url_hosts=f"127.0.0.1:{receiver.port}")
    make_biz_type("order.open", url="https://shop.example/", url_hosts=f"127.0.0.1:{receiver.port}")
    own = {"url": receiver.url()}
    withdrawn, guarded = due(request=own), due("order.open", request=own)

    BizType.objects.filter(code="order.close").update(url_hosts="hooks.example")
    settings.DELAYHUB = {**settings.DELAYHUB, "ALLOWED_NETWORKS": []}
    deliver([withdrawn, guarded])

    jobs = {job.id: job for job in Job.objects.all()}
    assert not receiver.received
    assert {job.status for job in jobs.values()} == {Status.DEAD}
    assert jobs[withdrawn].last_error == "its biz type does not let jobs lead to 127.0.0.1"
    assert jobs[guarded].last_error.startswith("callbacks may not go to 127.0.0.1")


def deliver(ids: Sequence[UUID]) -> None:
    """Claims the jobs and delivers them, once each."""
    runtime, began = delivery_runtime(), SystemClock().monotonic()
    answer = runtime.claimer.claim_due(ids, now_ms=runtime.clock.now_ms())
    runtime.hand_over(answer, claimed_at=began)
    assert runtime.outcome_writer.wait_until_idle(60)
