"""A job is followed from its creation over its delay to its receiver, or into the function of a task."""

from __future__ import annotations

import logging
import socket
from typing import Any
from uuid import UUID

import pytest
from celery import Celery
from django.test import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from delayhub.celery_support.job_store import Done
from delayhub.engine import TimerLane
from tasksapp.access.keys import issue_key
from tasksapp.jobs.creation import create
from tasksapp.models import Job, Status
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.task_runner import TaskRunner, lease_keeper
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver, answering, no_content
from tests.redis_time import redis_now_ms, wait_until_redis_ms
from tests.tracing import ids_of, trace_and_span, tracing_on

pytestmark = pytest.mark.django_db(transaction=True)

CALLERS = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"


def linked(span: ReadableSpan) -> tuple[int, int]:
    """The ids that the span's only link names."""
    [link] = span.links
    return link.context.trace_id, link.context.span_id


def test_a_job_of_the_rest_api_is_followed_over_its_delay_and_a_retry_to_its_receiver(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, lane: TimerLane, client: Client
) -> None:
    make_biz_type("order.close", url=receiver.url("/?token=secret"), backoff_min_seconds=0, jitter=0)
    headers = {"Authorization": f"Bearer {issue_key('tests').key}", "traceparent": CALLERS}
    body = {"biz_type": "order.close", "delay": 0.3}
    with tracing_on() as traces:
        answer = client.post("/api/v1/jobs", body, content_type="application/json", headers=headers)
        job = Job.objects.get(id=UUID(answer.json()["id"]))
        wait_until_redis_ms(lane.client, redis_now_ms(lane.client) + 400)
        receiver.answer = answering(503)
        fire()
        receiver.answer = no_content
        fire()

    created = traces.one("create order.close")
    assert created.parent is not None
    assert (created.parent.trace_id, created.parent.span_id) == trace_and_span(CALLERS)
    assert trace_and_span(job.traceparent) == ids_of(created)
    attempts = traces.named("deliver order.close")
    assert len(attempts) == 2
    for attempt, request in zip(attempts, receiver.received, strict=True):
        # No span is open over the delay: each attempt has a trace of its own, and a link.
        assert attempt.parent is None
        assert linked(attempt) == ids_of(created)
        # The receiver's spans become part of the attempt's.
        assert trace_and_span(request.headers["traceparent"]) == ids_of(attempt)
        assert (attempt.attributes or {})["messaging.message.id"] == str(job.id)
        assert "secret" not in attempt.to_json()
    notes = [span.attributes or {} for span in attempts]
    assert [note["http.response.status_code"] for note in notes] == [503, 204]
    assert (notes[0]["error.type"], notes[0]["delayhub.attempt"]) == ("http.503", 1)
    assert [span.status.status_code for span in attempts] == [StatusCode.ERROR, StatusCode.UNSET]
    job.refresh_from_db()
    assert job.status == Status.SUCCEEDED


def test_a_receiver_that_is_not_there_shows_in_the_span(make_biz_type: MakeBizType, fire: Fire) -> None:
    make_biz_type("order.close", url="http://127.0.0.1:1/", max_attempts=1)
    with tracing_on() as traces:
        create("order.close")
        fire()

    attempt = traces.one("deliver order.close")
    assert (attempt.attributes or {})["error.type"] == "refused"
    assert "no connection" in (attempt.status.description or "")


def test_the_function_of_a_task_runs_under_a_span_of_its_own(
    make_biz_type: MakeBizType, current_celery: Celery, lane: TimerLane
) -> None:
    make_biz_type("order.close", target="celery", task_name="shop.close")
    runner = TaskRunner(clock=RedisClock(lambda: lane.client), keeper=lease_keeper, worker="w:1", using="default")
    seen: list[Any] = []
    with tracing_on() as traces:
        job_id = create("order.close").job_id
        wait_until_redis_ms(lane.client, redis_now_ms(lane.client) + 2)
        outcome = runner.run(job_id, lambda _call: seen.append(trace.get_current_span()), now_ms=0)

    assert isinstance(outcome, Done)
    attempt = traces.one("run order.close")
    assert linked(attempt) == ids_of(traces.one("create order.close"))
    assert seen[0].get_span_context() == attempt.get_span_context()


def test_what_goes_wrong_with_encrypted_jobs_is_not_in_their_spans(
    make_biz_type: MakeBizType, fire: Fire, runner: TaskRunner, lane: TimerLane
) -> None:
    make_biz_type("order.close", url="http://127.0.0.1:1/secret", max_attempts=1, encrypted=True)
    make_biz_type("card.charge", target="celery", task_name="tests.charge", encrypted=True)

    def charge(_call: Any) -> None:
        raise ValueError("bad card 4111")

    with tracing_on() as traces:
        create("order.close")
        fire()
        runner.run(create("card.charge").job_id, charge, now_ms=redis_now_ms(lane.client) + 5)

    for name, kind in (("deliver order.close", "refused"), ("run card.charge", "ValueError")):
        span = traces.one(name)
        assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "encrypted")
        assert (span.attributes or {})["error.type"] == kind
        assert not span.events
        assert "4111" not in span.to_json()


def test_no_span_and_no_log_names_the_host_that_an_encrypted_job_brings(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    make_biz_type("order.close", url=receiver.url(), max_attempts=1, encrypted=True, url_hosts="*.ada.example")
    inside = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.1.2.3", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: inside)
    caplog.set_level(logging.DEBUG)
    with tracing_on() as traces:
        job_id = create("order.close", request={"url": "http://secret.ada.example/"}).job_id
        fire()

    span = traces.one("deliver order.close")
    assert "secret.ada.example" in Job.objects.get(id=job_id).last_error
    assert (span.attributes or {})["error.type"] == "address"
    assert "ada.example" not in f"{span.to_json()} {caplog.text}"


def test_without_tracing_the_receiver_gets_the_callers_own_context(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    make_biz_type("order.close", url=receiver.url())
    create("order.close", traceparent=CALLERS)

    fire()

    assert receiver.received[0].headers["traceparent"] == CALLERS
