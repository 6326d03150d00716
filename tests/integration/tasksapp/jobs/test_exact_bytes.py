"""Exact bytes in Python: what rows keep, wherever jobs are replaced, followed or edited, and what old workers see."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from delayhub.clock import SystemClock
from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.errors import InvalidJob
from tasksapp.jobs import completion
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.exact_bytes import shown_bytes
from tasksapp.models import AuditEntry, BizType, Job
from tasksapp.workers.job_callbacks import JobCallbacks
from tests.fixture_types import MakeBizType
from tests.outcomes import tried

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

BINARY = b"\x00\xff\xfe\r\n'\\x00"
OCTETS = "application/octet-stream"


def due(raw: bytes = BINARY, **fields: Any) -> Job:
    """A new job with exact bytes that is due."""
    return jobs.create("order.close", raw=raw, due_at=timezone.now() - timedelta(seconds=1), **fields).job


def stored(job: Job) -> tuple[bytes, str, str]:
    """The bytes of its row, its JSON and its content type."""
    job.refresh_from_db()
    kept = shown_bytes(job.raw, job.request)
    return bytes(job.raw or b""), job.body, kept.content_type or ""


@pytest.mark.parametrize("given", [BINARY, bytearray(BINARY), memoryview(BINARY)], ids=["bytes", "array", "view"])
def test_bytes_are_stored_as_they_are(biz_type: BizType, given: Any) -> None:
    assert stored(due(given)) == (BINARY, "null", OCTETS)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"raw": "text"}, "raw must be bytes, got str: encode a text first"),
        ({"raw": b"x", "body": {"order": 1}}, "give a JSON body or exact bytes, not both"),
        ({"raw": b"x" * 65_537}, "body may have 65536 bytes, got 65537"),
        ({"content_type": "text/plain"}, "content_type is for exact bytes or a text"),
        ({"raw": b"x", "content_type": "text/plain\nX: 1"}, "content_type must be a media type"),
    ],
)
def test_what_cannot_be_is_refused(biz_type: BizType, fields: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidJob, match=told):
        jobs.create("order.close", **fields)


def test_a_celery_task_takes_json_only(make_biz_type: MakeBizType) -> None:
    make_biz_type("report.build", target=BizType.Target.CELERY, task_name="report.build", url="")

    with pytest.raises(InvalidJob, match=r"body must be JSON: report\.build runs a Celery task"):
        jobs.create("report.build", raw=b"x")


def test_a_replaced_job_has_the_bytes_of_the_last_request_or_none(make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", one_live="replace")

    for keys in ({"debounce_key": "k"}, {"biz_id": "42"}):
        first = jobs.create("order.close", raw=b"\x00first", delay=60, **keys).job
        jobs.create("order.close", raw=BINARY, content_type="image/png", delay=60, **keys)
        assert stored(first) == (BINARY, "null", "image/png")

        jobs.create("order.close", body={"order": 1}, delay=60, **keys)
        assert stored(first) == (b"", '{"order":1}', "")


@pytest.mark.parametrize("raw", [BINARY, "h\u00e9 \u2028\n".encode()], ids=["binary", "text"])
def test_a_follow_up_brings_the_bytes_of_the_job_that_it_follows(
    make_biz_type: MakeBizType, claimer: Claimer, raw: bytes
) -> None:
    make_biz_type("paid.report")
    make_biz_type("order.close", on_success="paid.report")
    job_id = due(raw, content_type="image/png").id

    (job,) = claimer.running_jobs(claimer.claim_due([job_id], now_ms=0))
    finished = completion.succeeded(job, tried=tried())
    Completer(clock=SystemClock(), worker="w", using="default").complete([Completion(job, finished)])

    body = json.loads(Job.objects.exclude(id=job_id).get().body)
    shown = {"body_base64": b64encode(raw).decode()} if raw == BINARY else {"body_text": raw.decode()}
    assert {name: value for name, value in body.items() if name != "follows"} == {
        "body": None, "content_type": "image/png", **shown,
    }  # fmt: skip


def test_an_edit_keeps_the_content_type_and_leaves_a_mark_in_the_audit(biz_type: BizType) -> None:
    job = jobs.create("order.close", raw=b"text", content_type="text/csv", delay=60).job

    jobs.edit(job.id, raw=BINARY, content_type="image/png", by=Actor("ada"))
    jobs.edit(job.id, request={"headers": {"X-Region": "eu"}}, by=Actor("ada"))
    jobs.edit(job.id, raw=BINARY, content_type="image/png", by=Actor("ada"))  # nothing changes

    first, second = AuditEntry.objects.order_by("id")
    assert stored(job) == (BINARY, "null", "image/png")
    assert (first.before["raw"]["text"], first.after["raw"]["base64"]) == ("text", b64encode(BINARY).decode())
    assert json.loads(first.after["request"]) == {"content_type": "image/png"}
    assert json.loads(second.after["request"]) == {"headers": {"X-Region": "eu"}, "content_type": "image/png"}
    for fields in ({"raw": None}, {"raw": b"x", "body": 1}, {"content_type": "image"}):
        with pytest.raises(InvalidJob):
            jobs.edit(job.id, **fields)


def test_secret_headers_and_bytes_go_together(biz_type: BizType, claimer: Claimer, callbacks: JobCallbacks) -> None:
    job = due(content_type="image/png", request={"headers": {"Authorization": "Bearer mine"}})

    (callback,) = callbacks.make(claimer.running_jobs(claimer.claim_due([job.id], now_ms=0)), claimed_at=0.0)

    assert (callback.body, callback.target.content_type) == (BINARY, "image/png")
    assert callback.target.authorization == "Bearer mine"


@pytest.fixture
def callbacks(clock: Any, completer: Completer) -> JobCallbacks:
    return JobCallbacks(clock=clock, completer=completer)
