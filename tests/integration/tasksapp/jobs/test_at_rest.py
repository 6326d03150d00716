"""Of what encrypted jobs carry, and of what is answered and said about them, no byte is in the database or in Redis."""

from __future__ import annotations

import json
import logging
from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from operator import attrgetter
from typing import Any
from uuid import UUID

import pytest
import redis
from aiohttp import web
from celery import Celery, shared_task
from celery.exceptions import Retry
from cryptography.fernet import Fernet
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from delayhub.webhooks.signature import new_secret
from tasksapp import jobs, series
from tasksapp.access.actors import Actor
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.errors import KeyTaken
from tasksapp.jobs import JobRequest, create_many
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.export import FORMATS
from tasksapp.jobs.follow_ups import FOLLOWS
from tasksapp.jobs.made_again import run_again
from tasksapp.models import Attempt, BizType, Job, Series, Status
from tasksapp.models.job_keys import IdempotencyKey as JobKey
from tasksapp.models.sealable import UNREADABLE, stored
from tasksapp.pulling.held_claim import HeldClaim
from tasksapp.pulling.puller import Puller
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.everywhere import places_of
from tests.integration.tasksapp.receiver import Receiver
from tests.integration.tasksapp.stored_jobs import due
from tests.task_messages import call_run_task

pytestmark = pytest.mark.django_db(transaction=True)

#: Of whole groups of three bytes, so that base64 has them anywhere.
SECRET = "4111-secret-0042-of-ada"
ADA = Actor("ada")


@shared_task(name="tests.at_rest.charge")
def charge(card: str) -> None:
    if Job.objects.get(biz_type__code="card.charge").attempts == 0:
        raise ValueError(f"bad card {card}")


@pytest.fixture(autouse=True)
def _kept(settings: Any, current_celery: Celery) -> None:
    settings.DELAYHUB |= {
        "ENCRYPTION_KEYS": [Fernet.generate_key().decode()],
        "KEPT_EXCHANGES": "all",
        "ALLOWED_TASKS": ["tests.at_rest.*"],
    }


def echoing(status: int) -> Callable[[web.Request], Any]:
    """A receiver that says all that it got."""

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.text()
        headers = {"x-echo": request.headers.get("x-card", SECRET)}
        return web.Response(status=status, text=f"{request.path_qs} {body}", headers=headers)

    return answer


def carried(**more: Any) -> dict[str, Any]:
    """What a job carries that is secret."""
    return {"body": {"card": SECRET}, "request": {"headers": {"X-Card": SECRET, "Authorization": SECRET}}, **more}


def test_a_marked_text_is_nowhere_whatever_becomes_of_its_job(
    make_biz_type: MakeBizType,
    receiver: Receiver,
    fire: Fire,
    redis_client: redis.Redis,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    url, signed = receiver.url("/hook"), {"signing_secret": new_secret()}
    make_biz_type("told", url=url)  # whose own jobs are not encrypted
    make_biz_type(
        "order.close", url=url, url_hosts=f"127.0.0.1:{receiver.port}", on_success="told", encrypted=True, **signed
    )
    make_biz_type("order.fail", url=url, on_dead="told", max_attempts=1, encrypted=True, **signed)
    make_biz_type("order.once", url=url, one_live="replace", encrypted=True)
    make_biz_type("card.charge", target="celery", task_name="tests.at_rest.charge", encrypted=True)
    make_biz_type("report", target="pull", encrypted=True)
    make_biz_type("asked", url=url, on_resolved="told", encrypted=True)

    receiver.answer = echoing(200)
    done = due(**carried(idempotency_key="k1"))
    due(raw=SECRET.encode(), content_type="text/plain")
    due(body=None, request={"url": receiver.url(f"/own/{SECRET}")})
    create_many([JobRequest("order.close", **carried()) for _ in range(25)])
    fire()
    receiver.answer = echoing(500)
    dead = due("order.fail", **carried())
    fire()
    jobs.create("order.close", delay=timedelta(days=90), debounce_key="d", **carried())
    replaced = jobs.create("order.close", delay=timedelta(days=90), debounce_key="d", **carried()).job_id
    for _ in range(2):
        jobs.create("order.once", biz_id="42", delay=timedelta(days=9), **carried())
    create_many([JobRequest("order.close", biz_id="43", delay=timedelta(days=2), body=SECRET)], together=True, by=ADA)
    edited = jobs.create("order.close", delay=timedelta(hours=1), by=ADA).job_id
    jobs.edit(edited, by=ADA, reason="another card", **carried())
    made = series.create("order.close", name="hourly", every=timedelta(hours=1), by=ADA, **carried())
    series.change(made.pk, by=ADA, body={"card": SECRET, "again": True})
    series.trigger(made.pk, by=ADA)
    run_again(done, by=ADA)
    charged = due("card.charge", body={"card": SECRET})
    with pytest.raises(Retry):
        call_run_task(charged, "tests.at_rest.charge")
    Job.objects.filter(id=charged).update(next_run_at=timezone.now())
    call_run_task(charged, "tests.at_rest.charge")
    pulled = pull_and_fail()
    asked = jobs.create("asked", biz_id="44", delay=timedelta(days=1), body={"card": SECRET}).job_id
    jobs.resolve("asked", "44", outcome="approved", body={"card": SECRET}, by=ADA)

    assert places_of(SECRET, redis_client) == []
    ours = [record.getMessage() for record in caplog.records if record.name != "aiohttp.access"]  # the receiver's
    assert not [line for line in ours if SECRET in line]
    # It is there all the same, for those who may see it.
    opened = {job.id: job for job in Job.objects.select_related("biz_type")}
    assert {job.status for job in opened.values()} >= {Status.SUCCEEDED, Status.DEAD, Status.PENDING}
    assert [json.loads(opened[each].body)["card"] for each in (done, dead, replaced, edited, charged, pulled)] == [
        SECRET
    ] * 6
    assert all(job.is_sealed for job in opened.values())
    assert SECRET in opened[pulled].last_error
    follows = [json.loads(job.body) for job in opened.values() if job.biz_type.code == "told"]
    assert {each[FOLLOWS]["status"] for each in follows} == {"succeeded", "dead", "cancelled"}
    answers = [each[FOLLOWS]["answer"]["body"] for each in follows if each[FOLLOWS]["id"] == str(asked)]
    assert answers == [{"card": SECRET}]
    assert SECRET in json.dumps(follows)
    assert len(Job.objects.filter(biz_type__code="order.once")) == 1
    said = {attempt.job_id: attempt for attempt in Attempt.objects.order_by("-number")}
    assert SECRET in said[dead].response_body
    assert said[dead].response_headers["x-echo"] == SECRET
    assert said[charged].error == f"ValueError: bad card {SECRET}"
    assert json.loads(Series.objects.get().body) == {"card": SECRET, "again": True}
    assert any(SECRET in received.path for received in receiver.received)
    assert any(received.body == SECRET.encode() for received in receiver.received)


def pull_and_fail() -> UUID:
    """A job that a puller gave back with words of its own."""
    job_id = due("report", body={"card": SECRET})
    biz_type = BizType.objects.get(code="report")
    (claim,) = Puller(by=Actor("api:shop")).run_once([biz_type], most=5).claims
    assert json.loads(claim.job.row.body) == {"card": SECRET}
    HeldClaim(str(claim.token), seen_by=None, by=ADA).fail(reason=f"no such card: {SECRET}", note=SECRET)
    return job_id


def test_a_job_stays_as_it_was_made_when_the_mark_changes(
    make_biz_type: MakeBizType, redis_client: redis.Redis
) -> None:
    biz_type = make_biz_type("order.close", encrypted=True)
    hidden = jobs.create("order.close", delay=60, body=SECRET).job_id
    BizType.objects.filter(pk=biz_type.pk).update(encrypted=False)

    jobs.edit(hidden, body=[SECRET], by=ADA)

    assert places_of(SECRET, redis_client) == []
    assert Job.objects.get().body == json.dumps([SECRET])


def test_an_answer_to_a_job_that_is_still_encrypted_is_encrypted_too(
    make_biz_type: MakeBizType, redis_client: redis.Redis
) -> None:
    make_biz_type("told")
    asked = make_biz_type("asked", encrypted=True, on_resolved="told")
    jobs.create("asked", biz_id="42", delay=60)
    BizType.objects.filter(pk=asked.pk).update(encrypted=False)
    biz_type_cache.clear()

    for _ in range(2):  # what is said once more is known again
        jobs.resolve("asked", "42", outcome="approved", body={"card": SECRET})

    assert places_of(SECRET, redis_client) == []
    follows = Job.objects.get(biz_type__code="told")
    assert json.loads(follows.body)[FOLLOWS]["answer"]["body"] == {"card": SECRET}


def test_an_edit_encrypts_a_job_from_before_with_all_that_was_said(
    make_biz_type: MakeBizType, redis_client: redis.Redis
) -> None:
    biz_type = make_biz_type("order.close")
    job_id = jobs.create("order.close", delay=60, **carried()).job_id
    Job.objects.update(last_error=SECRET)
    Attempt.objects.create(
        job_id=job_id, number=1, started_at=timezone.now(), duration_ms=1, lateness_ms=1, error=SECRET,
        response_headers={"x": SECRET}, request_headers=[SECRET], request_line=SECRET, response_body=SECRET,
    )  # fmt: skip
    assert len(places_of(SECRET, redis_client)) >= 7
    BizType.objects.filter(pk=biz_type.pk).update(encrypted=True)

    jobs.edit(job_id, priority=1, by=ADA)

    assert places_of(SECRET, redis_client) == []
    job, attempt = Job.objects.get(), Attempt.objects.get()
    assert (job.last_error, json.loads(job.body)) == (SECRET, {"card": SECRET})
    assert (attempt.error, attempt.response_headers, attempt.request_headers) == (SECRET, {"x": SECRET}, [SECRET])


def test_the_hash_of_an_idempotency_key_tells_nobody_the_body(make_biz_type: MakeBizType, settings: Any) -> None:
    make_biz_type("order.close", encrypted=True)
    make_biz_type("order.open")
    plain = jobs.create("order.open", idempotency_key="pin", body=1234)
    first = jobs.create("order.close", idempotency_key="pin", body=1234)
    hashes = dict(JobKey.objects.values_list("biz_type__code", "request_hash"))

    assert len(hashes["order.close"]) == len(hashes["order.open"]) == 64
    assert hashes["order.close"].startswith("@1")
    old = settings.DELAYHUB["ENCRYPTION_KEYS"]
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode(), *old]}
    assert jobs.create("order.close", idempotency_key="pin", body=1234).job_id == first.job_id
    assert jobs.create("order.open", idempotency_key="pin", body=1234).job_id == plain.job_id
    with pytest.raises(KeyTaken, match="another request"):
        jobs.create("order.close", idempotency_key="pin", body=1235)
    BizType.objects.filter(code="order.close").update(code="order.shut")
    assert jobs.create("order.shut", idempotency_key="pin", body=1234).job_id == first.job_id
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}
    with pytest.raises(KeyTaken, match="cannot be told"):  # the key is gone: two jobs would be worse
        jobs.create("order.shut", idempotency_key="pin", body=1234)


@pytest.mark.parametrize("kind", ["ndjson", "csv"])
def test_an_export_has_what_they_carry_unless_no_key_opens_it(
    make_biz_type: MakeBizType, settings: Any, kind: str
) -> None:
    make_biz_type("order.close", encrypted=True)
    jobs.create("order.close", delay=60, **carried())
    write = FORMATS[kind][2]

    assert SECRET in write(list(Job.objects.select_related("biz_type__tenant")), attrgetter("label"))

    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}
    text = write(list(Job.objects.select_related("biz_type__tenant")), attrgetter("label"))
    assert UNREADABLE in text
    assert "@1" not in text


@pytest.mark.parametrize("column", ["body", "request"])
def test_what_was_moved_from_another_row_is_not_sent(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, column: str
) -> None:
    biz_type = make_biz_type("order.close", url=receiver.url(), encrypted=True)
    mine, other = due(**carried()), jobs.create("order.close", delay=60, **carried()).job_id
    Job.objects.filter(id=mine).update(**{column: stored(Job.objects.get(id=other), column)})

    fire()

    job = Job.objects.get(id=mine)
    assert receiver.received == []
    assert (job.status, job.attempts, job.system_errors) == (Status.PENDING, 0, 1)
    assert "changed, or moved" in job.last_error
    assert not BizType.objects.get(pk=biz_type.pk).is_paused


@pytest.mark.parametrize("said", ["@1 of them is unknown", f"@1deadbeef{b64encode(bytes(40)).decode()}"])
def test_what_a_receiver_says_in_the_form_of_an_encrypted_value_is_shown_as_it_is(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, said: str
) -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.Response(status=422, text=said)

    receiver.answer = refuse
    make_biz_type("order.close", url=receiver.url())
    job_id = due()
    fire()
    Job.objects.update(last_error=said)

    assert Attempt.objects.get().response_body == said
    assert Job.objects.get(id=job_id).last_error == said


def test_neither_kind_of_job_costs_a_statement_more(make_biz_type: MakeBizType, claimer: Claimer) -> None:
    counted: dict[bool, list[int]] = {}
    for encrypted in (False, True):
        code = f"order.{encrypted}".lower()
        make_biz_type(code, encrypted=encrypted)
        with CaptureQueriesContext(connection) as single:
            job_id = due(code, **carried())
        with CaptureQueriesContext(connection) as bulk:
            create_many([JobRequest(code, delay=60)] * 3)
        with CaptureQueriesContext(connection) as claim:
            assert len(claimer.running_jobs(claimer.claim_due([job_id], now_ms=0))) == 1
        counted[encrypted] = [sum(map(is_counted, each)) for each in (single, bulk, claim)]

    assert counted[True] == counted[False]


def is_counted(statement: dict[str, str]) -> bool:
    """Whether it comes with each job: biz types are read now and then, and statements prepared."""
    text = statement["sql"]
    return not text.startswith("PREPARE") and 'FROM "delayhub_biz_type"' not in text
