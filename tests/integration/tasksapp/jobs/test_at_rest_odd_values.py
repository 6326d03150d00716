"""Values that look encrypted and are not, that are encrypted and cannot be opened, and what others are told of both."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from operator import attrgetter
from typing import Any
from uuid import UUID

import pytest
import redis
from aiohttp import web
from celery import Celery, shared_task
from celery.app.trace import build_tracer
from cryptography.fernet import Fernet
from django.utils import timezone

from delayhub.celery_support.delayed_task import JOB_HEADER, NOW_HEADER
from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.export import FORMATS
from tasksapp.models import BizType, Job, Status
from tasksapp.models.sealable import UNREADABLE, stored
from tasksapp.pulling.held_claim import HeldClaim
from tasksapp.pulling.puller import Puller
from tasksapp.tasks import run_task
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.everywhere import places_of
from tests.integration.tasksapp.receiver import Receiver
from tests.integration.tasksapp.stored_jobs import due

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "4111-secret-0042-of-ada"
#: As encrypted values begin.
ODD = f"@1 {SECRET}"
LONG_AGO = timedelta(hours=1)


@shared_task(name="tests.odd_values.charge")
def charge(card: str) -> None:
    raise ValueError(f"bad card {card}")


@pytest.fixture(autouse=True)
def _kept(settings: Any, current_celery: Celery) -> None:
    settings.DELAYHUB |= {
        "ENCRYPTION_KEYS": [Fernet.generate_key().decode()],
        "KEPT_EXCHANGES": "all",
        "ALLOWED_TASKS": ["tests.odd_values.*"],
    }


def running(claimer: Claimer, *ids: UUID) -> list[UUID]:
    """Those of the jobs that run once they are claimed together."""
    return [job.id for job in claimer.running_jobs(claimer.claim_due(ids, now_ms=0))]


def test_exact_bytes_of_a_plain_job_may_begin_as_encrypted_ones_do(make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close")
    job_id = jobs.create("order.close", delay=60, raw=ODD.encode()).job_id

    job = Job.objects.select_related("biz_type__tenant").get(id=job_id)

    assert bytes(job.raw or b"") == ODD.encode()
    assert SECRET in FORMATS["ndjson"][2]([job], attrgetter("label"))
    jobs.edit(job_id, raw=ODD.encode() * 2, by=Actor("ada"))
    assert bytes(Job.objects.get().raw or b"") == ODD.encode() * 2


def test_such_bytes_keep_no_other_job_from_running(make_biz_type: MakeBizType, claimer: Claimer) -> None:
    make_biz_type("told")
    make_biz_type("order.close", on_dead="told", max_age=timedelta(seconds=1))
    make_biz_type("order.open")
    odd = due(raw=ODD.encode(), due_at=timezone.now() - LONG_AGO)
    other = due("order.open", due_at=timezone.now() - LONG_AGO)

    assert running(claimer, odd, other) == [other]

    assert Job.objects.get(id=odd).status == Status.DEAD
    assert ODD in Job.objects.get(biz_type__code="told").body


@pytest.mark.parametrize("raw", [None, b"\x00\xff"])
def test_what_was_changed_dies_of_it_and_keeps_no_other_job_from_running(
    make_biz_type: MakeBizType, claimer: Claimer, settings: Any, raw: bytes | None
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "MAX_SYSTEM_ERRORS": 1}
    make_biz_type("told")
    make_biz_type("order.close", encrypted=True, on_dead="told")
    changed, moved, good = (due(raw=raw, due_at=timezone.now() - LONG_AGO) for _ in range(3))
    column = "body" if raw is None else "raw"
    Job.objects.filter(id=changed).update(**{column: stored(Job.objects.get(id=moved), column)})

    assert running(claimer, changed, good) == [good]

    assert Job.objects.get(id=changed).status == Status.DEAD
    follows = Job.objects.get(biz_type__code="told")
    assert follows.is_sealed
    assert '"body_left_out":true' in follows.body


@pytest.mark.parametrize(("raw", "pointer"), [(None, ""), (None, "/card"), (b"\x00\xff", "/card")])
def test_masks_leave_the_reason_why_nothing_is_sent(
    make_biz_type: MakeBizType, claimer: Claimer, settings: Any, raw: bytes | None, pointer: str
) -> None:
    biz_type = make_biz_type("order.close", encrypted=True)
    make_biz_type("order.open")
    hidden = due(body=None if raw else {"card": SECRET}, raw=raw, due_at=timezone.now() - LONG_AGO)
    other = due("order.open", due_at=timezone.now() - LONG_AGO)
    BizType.objects.filter(pk=biz_type.pk).update(masked_fields=[pointer])
    biz_type_cache.clear()
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}

    assert running(claimer, hidden, other) == [other]

    assert Job.objects.get(id=hidden).last_error == f"not sent: {UNREADABLE}"


async def repeat(request: web.Request) -> web.StreamResponse:
    """A receiver that says what it got, and says it as a puller's claim has its mark."""
    headers = {"delayhub-claim": "1", "x-echo": SECRET}
    return web.Response(status=500, text=await request.text(), headers=headers)


def test_an_answer_is_encrypted_whatever_it_begins_with(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, redis_client: redis.Redis
) -> None:
    make_biz_type("order.close", url=receiver.url(), encrypted=True)
    receiver.answer = repeat
    job_id = due(raw=ODD.encode(), content_type="text/plain")

    fire()

    assert places_of(SECRET, redis_client) == []
    attempt = Job.objects.get(id=job_id).attempt_log.get()
    assert (attempt.response_body, attempt.response_headers["x-echo"]) == (ODD, SECRET)


def test_so_is_what_a_puller_says(make_biz_type: MakeBizType, redis_client: redis.Redis) -> None:
    biz_type = make_biz_type("report", target="pull", encrypted=True)
    job_id = due("report")
    (claim,) = Puller(by=Actor("api:shop")).run_once([biz_type], most=5).claims

    HeldClaim(str(claim.token), seen_by=None, by=Actor("api:shop")).fail(reason=ODD, note=ODD)

    assert places_of(SECRET, redis_client) == []
    attempt = Job.objects.get(id=job_id).attempt_log.get()
    assert (attempt.error, attempt.response_body) == (ODD, ODD)


def test_celery_hears_only_of_which_kind_a_failure_was(
    make_biz_type: MakeBizType, current_celery: Celery, caplog: pytest.LogCaptureFixture
) -> None:
    make_biz_type("card.charge", target="celery", task_name="tests.odd_values.charge", encrypted=True, max_attempts=1)
    job_id = due("card.charge", body={"card": SECRET})
    request = {
        "id": str(job_id), "headers": {JOB_HEADER: str(job_id), NOW_HEADER: 0}, "hostname": "w",
        "is_eager": False, "called_directly": False,
    }  # fmt: skip

    with caplog.at_level(logging.INFO):
        build_tracer(run_task.name, run_task, app=current_celery)(str(job_id), ["tests.odd_values.charge"], {}, request)

    job = Job.objects.get()
    assert (job.status, SECRET in job.last_error) == (Status.DEAD, True)
    assert "ValueError (the rest is encrypted)" in caplog.text
    assert SECRET not in caplog.text
    assert json.loads(job.body) == {"card": SECRET}
