"""A value of a masked field is in the callback and in the body's column, and nowhere else."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from celery import Celery, shared_task
from celery.exceptions import Retry
from celery.utils.serialization import get_pickleable_exception
from django.db import transaction
from django.utils import timezone

from delayhub.testing import run_due_jobs
from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.errors import InvalidJob, KeyTaken
from tasksapp.jobs.follow_ups import EndedJob, make_follow_ups
from tasksapp.jobs.masking import as_shown
from tasksapp.models import Attempt, AuditEntry, BizType, Job, Status
from tasksapp.models.job_keys import IdempotencyKey
from tasksapp.models.sealed_value import is_sealed
from tasksapp.testing import WithoutTimers
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver, echo
from tests.integration.tasksapp.task_backends.framework import TASKS
from tests.integration.tasksapp.task_backends.shop_tasks import fails_of, gives_back
from tests.planted_secrets import columns_with, marker
from tests.task_messages import call_run_task
from tests.tracing import tracing_on

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
ADA = Actor("ada", "192.0.2.7")
HOUR = timedelta(hours=1)
_SHOWN = re.compile(r"\[masked [0-9a-f]{12}\]")
seen: list[str] = []


@shared_task(name="tests.masked.task")
def task(card: str) -> None:
    seen.append(card)
    raise ValueError(f"bad card {card}") from KeyError(card)


class Silent(Exception):
    def __str__(self) -> str:
        return "no"


@shared_task(name="tests.masked.silent")
def silent(card: str) -> None:
    raise Silent(card)


@pytest.fixture
def card() -> str:
    return marker("card")


@pytest.fixture(autouse=True)
def _all_of_the_log(settings: Any, current_celery: Celery, caplog: pytest.LogCaptureFixture) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "KEPT_EXCHANGES": "all", "ALLOWED_TASKS": ["tests.masked.*"]}
    caplog.set_level("DEBUG")
    seen.clear()


def test_what_a_receiver_repeats_is_masked_before_it_is_stored(
    make_biz_type: MakeBizType, fire: Fire, card: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Receiver(answer=echo) as receiver, tracing_on() as traces:
        make_biz_type(
            "order.close", url=receiver.url(), masked_fields=["/card"], max_attempts=1, on_dead="order.dead",
        )  # fmt: skip
        make_biz_type("order.dead", url=receiver.url())
        job_id = jobs.create("order.close", body={"card": card, "order": 42}).job_id
        fire()
        spans = "".join(span.to_json() for span in traces.all())

    attempt, job = Attempt.objects.get(job_id=job_id), Job.objects.get(id=job_id)
    assert json.loads(receiver.received[0].body) == {"card": card, "order": 42}
    assert job.status == Status.DEAD
    assert columns_with(card) == {"Job.body"}
    [mask] = set(_SHOWN.findall(attempt.response_body))
    assert attempt.response_body == f'cannot take {{"card":"{mask}","order":42}}'
    assert attempt.response_headers["X-Echo"] == mask
    # The job that follows has no masked field of its own, so what it carries on has the mask.
    following = json.loads(Job.objects.exclude(id=job_id).get().body)
    assert following["body"] == {"card": mask, "order": 42}
    assert card not in spans
    assert card not in caplog.text


def test_a_follow_up_that_masks_the_field_too_gets_the_value(make_biz_type: MakeBizType, fire: Fire, card: str) -> None:
    with Receiver(answer=echo) as receiver:
        url = receiver.url()
        make_biz_type("order.close", url=url, masked_fields=["/card"], max_attempts=1, on_dead="order.dead")
        make_biz_type("order.dead", url=url, masked_fields=["/body/card"])
        job_id = jobs.create("order.close", body={"card": card}).job_id
        fire()

    assert json.loads(Job.objects.exclude(id=job_id).get().body)["body"] == {"card": card}
    assert columns_with(card) == {"Job.body"}


ANSWER = "/follows/answer/body"


@pytest.mark.parametrize("name", ["answer", "late_answer"])
def test_what_follows_from_an_answer_has_masks_where_the_question_has_them(
    make_biz_type: MakeBizType, fire: Fire, card: str, name: str
) -> None:
    pin = marker("pin")
    make_biz_type("ask", masked_fields=["/card", "/pin"], on_resolved="told", on_success="told")
    make_biz_type("told")
    job = jobs.create("ask", biz_id="42", delay=HOUR, body={"card": card, "limits": {"card": 3}}).job
    said = {"pin": pin, "note": f"of {card}", card: [card, True], "limits": {"card": 3}}

    if name == "answer":
        jobs.resolve("ask", "42", outcome="approved", body=said)
    else:
        Job.objects.update(status="running", lease_token=7)
        jobs.resolve("ask", "42", outcome="approved", body=said)
        row = Job.objects.select_related("biz_type").get()
        Job.objects.update(status="succeeded", finished_at=timezone.now())
        with transaction.atomic():
            make_follow_ups([EndedJob.of(row)._replace(status=Status.SUCCEEDED)], using="default")

    follows = json.loads(Job.objects.exclude(id=job.id).get().body)["follows"]
    (of_card,) = set(_SHOWN.findall(json.dumps(follows[name]["body"]["note"])))
    assert follows[name]["body"]["limits"] == {"card": 3}
    assert follows[name]["body"][of_card] == [of_card, True]
    assert _SHOWN.fullmatch(follows[name]["body"]["pin"])
    assert columns_with(card) == {"Job.body", "Tombstone.answer"}
    assert {row.body for row in Job.objects.all() if pin in row.body} == set()


def test_what_follows_from_an_answer_and_masks_its_fields_too_gets_the_values(
    make_biz_type: MakeBizType, card: str
) -> None:
    asks = {"masked_fields": ["/card", "/pin"], "on_resolved": "told"}
    make_biz_type("ask", **asks)
    make_biz_type("told", masked_fields=[f"{ANSWER}/pin", f"{ANSWER}/cards/*"])
    job_id = jobs.create("ask", biz_id="42", delay=HOUR, body={"card": card, "pin": 1234}).job_id

    jobs.resolve("ask", "42", body={"pin": 1234, "cards": [card], "other": card, "card": "x" * 12})

    row = Job.objects.exclude(id=job_id).get()
    said = json.loads(row.body)["follows"]["answer"]["body"]
    assert (said["pin"], said["cards"]) == (1234, [card])
    assert _SHOWN.fullmatch(said["other"])
    assert _SHOWN.fullmatch(said["card"])
    assert card not in as_shown(row).body


def test_what_follows_from_an_answer_has_none_of_it_where_the_question_cannot_be_searched(
    make_biz_type: MakeBizType, card: str
) -> None:
    ask = make_biz_type("ask", on_resolved="told")
    make_biz_type("told")
    job_id = jobs.create("ask", biz_id="42", delay=HOUR, raw=card.encode(), content_type="text/plain").job_id
    BizType.objects.filter(pk=ask.pk).update(masked_fields=["/card"])
    biz_type_cache.clear()

    jobs.resolve("ask", "42", outcome="approved", body={"note": card})

    said = json.loads(Job.objects.exclude(id=job_id).get().body)["follows"]["answer"]
    assert (said["outcome"], said["body"]) == ("approved", "[masked]")


def test_the_exception_of_a_task_is_masked_for_the_row_the_log_the_span_and_celery(
    make_biz_type: MakeBizType, card: str, caplog: pytest.LogCaptureFixture
) -> None:
    make_biz_type("shop.pay", target="celery", task_name="tests.masked.task", masked_fields=["/card"], max_attempts=2)
    job_id = jobs.create("shop.pay", body={"card": card}).job_id

    with tracing_on() as traces:
        with pytest.raises(Retry) as again:
            call_run_task(job_id, "tests.masked.task")
        Job.objects.update(next_run_at=timezone.now())
        with pytest.raises(Exception, match="ValueError: bad card") as failed:
            call_run_task(job_id, "tests.masked.task")
        spans = "".join(span.to_json() for span in traces.all())

    assert seen == [card, card]
    assert re.search(r"ValueError: bad card \[masked [0-9a-f]{12}\]", Job.objects.get().last_error)
    assert Job.objects.get().error_class == "task.ValueError"
    assert columns_with(card) == {"Job.body"}
    # Pools and results of Celery take it, as they would the task's own.
    assert [get_pickleable_exception(one) for one in (again.value.exc, failed.value)] == [again.value.exc, failed.value]
    assert isinstance(again.value.exc, type(failed.value))
    assert card not in f"{again.value} {again.value.exc!r} {vars(failed.value)} {failed.getrepr(style='native')}"
    assert "bad card [masked" in spans
    assert card not in spans
    assert card not in caplog.text


def test_the_audit_keeps_masks_and_no_hash_of_the_body(make_biz_type: MakeBizType, card: str) -> None:
    make_biz_type("order.close", masked_fields=["/card", "/pin"])
    job_id = jobs.create("order.close", delay=60, body={"card": card, "pin": 1}).job_id

    jobs.edit(job_id, body={"card": card, "pin": 2}, by=ADA)
    jobs.edit(job_id, body={"card": "none", "pin": 2}, by=ADA)

    first, second = AuditEntry.objects.order_by("id")
    assert (first.before.get("body"), first.after["body"]) == (None, "changed")
    assert set(second.before["body"]) == {"bytes", "text"}
    assert second.after["body"] == {"bytes": 23, "text": '{"card":"[masked]","pin":"[masked]"}'}
    assert columns_with(card) == set()


def test_exact_bytes_have_no_fields_to_mask(make_biz_type: MakeBizType) -> None:
    biz_type = make_biz_type("order.close")
    job_id = jobs.create("order.close", delay=60, raw=b"<a/>").job_id
    biz_type.masked_fields = ["/card"]
    biz_type.save()

    with pytest.raises(InvalidJob, match="masked fields"):
        jobs.create("order.close", raw=b"x")
    with pytest.raises(InvalidJob, match="masked fields"):
        jobs.edit(job_id, raw=b"x")
    assert as_shown(Job.objects.select_related("biz_type").get()).body == '"[masked]"'


def test_a_mask_that_is_handed_on_stops_no_follow_up(make_biz_type: MakeBizType, fire: Fire, card: str) -> None:
    with Receiver(answer=echo) as receiver:
        make_biz_type("a", url=receiver.url(), max_attempts=1, on_dead="b", masked_fields=["/card"])
        make_biz_type("b", url=receiver.url(), max_attempts=1, on_dead="c")
        make_biz_type("c", masked_fields=["/body/body/card"])
        # It masks fewer places than the first: what it leaves open comes masked, also where it masks itself.
        make_biz_type("wide", url=receiver.url(), max_attempts=1, on_dead="narrow", masked_fields=["/*/number"])
        make_biz_type("narrow", masked_fields=["/body/card/number"])
        jobs.create("a", body={"card": card})
        jobs.create("wide", body={"card": {"number": card}})
        fire()
        fire()

    bodies = dict(Job.objects.values_list("biz_type__code", "body"))
    assert bodies.keys() == {"a", "b", "c", "wide", "narrow"}
    assert all(_SHOWN.search(bodies[code]) and card not in bodies[code] for code in ("b", "c", "narrow"))


def test_exact_bytes_are_not_handed_on(make_biz_type: MakeBizType, fire: Fire, card: str) -> None:
    with Receiver(answer=echo) as receiver:
        biz_type = make_biz_type("order.close", url=receiver.url(), max_attempts=1, on_dead="order.dead")
        make_biz_type("order.dead", masked_fields=["/body/card"])
        jobs.create("order.close", raw=f'{{"card": "{card}"}}'.encode())
        biz_type.masked_fields = ["/card"]
        biz_type.save()
        fire()

    following = json.loads(Job.objects.get(biz_type__code="order.dead").body)
    assert (following["body"], following.keys()) == ("[masked]", {"follows", "body"})


def test_what_a_task_of_django_keeps_is_masked_for_celery_and_for_the_frameworks_log(
    make_biz_type: MakeBizType, card: str, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.TASKS = TASKS
    code, pointer = "django-tasks.default", "/kwargs/kwargs/card"
    gives_back.enqueue(card=card)
    BizType.objects.filter(code=code).update(masked_fields=[pointer])
    with WithoutTimers():
        (ran,) = run_due_jobs()
        fails_of.enqueue(card=card)
        (failed,) = run_due_jobs()
        Job.objects.filter(status=Status.PENDING).update(next_run_at=timezone.now())
        (dead,) = run_due_jobs()

    assert [one.job.status for one in (ran, failed, dead)] == ["succeeded", "pending", "dead"]
    assert _SHOWN.search(ran.result.text)
    assert "state=FAILED" in caplog.text
    assert card not in f"{ran.result!r} {failed.error!r} {dead.error!r} {caplog.text}"
    assert columns_with(card) == {"Job.body"}


def test_an_argument_that_cannot_be_read_is_masked_too(make_biz_type: MakeBizType, card: str) -> None:
    make_biz_type("shop.pay", target="celery", task_name="tests.masked.task", masked_fields=["/card"], max_attempts=1)
    job_id = jobs.create("shop.pay", body={"card": {"__type__": "datetime", "__value__": card}}).job_id

    with pytest.raises(Exception, match="Invalid isoformat string") as failed:
        call_run_task(job_id, "tests.masked.task")

    assert card not in str(failed.getrepr(style="native"))
    assert columns_with(card) == {"Job.body"}


def test_what_an_exception_does_not_say_but_has_is_masked_too(make_biz_type: MakeBizType, card: str) -> None:
    make_biz_type("shop.pay", target="celery", task_name="tests.masked.silent", masked_fields=["/card"], max_attempts=1)
    job_id = jobs.create("shop.pay", body={"card": card}).job_id

    with pytest.raises(Exception, match="Silent: no") as failed:
        call_run_task(job_id, "tests.masked.silent")

    assert card not in repr(failed.value)


def test_the_hash_of_a_request_with_masked_fields_tells_nobody_their_values(make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close")

    def create(key: str, pin: int) -> Any:
        return jobs.create("order.close", delay=60, idempotency_key=key, body={"pin": pin}).job_id

    before = create("before", 1234)
    BizType.objects.update(masked_fields=["/pin"])
    biz_type_cache.clear()
    since = create("since", 1234)

    hashes = dict(IdempotencyKey.objects.values_list("key", "request_hash"))
    assert [name for name, kept in hashes.items() if is_sealed(kept)] == ["since"]
    assert (create("before", 1234), create("since", 1234)) == (before, since)
    for key in hashes:
        with pytest.raises(KeyTaken, match="another request"):
            create(key, 1235)
