"""A person resolves a biz id from the page of one of its jobs, and takes that back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.test import Client
from django.urls import reverse

from tasksapp.jobs.creation import create
from tasksapp.models import AuditEntry, BizType, Job, Status, Tombstone
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


def url(page: str, job: Job) -> str:
    return reverse(f"admin:tasksapp_job_{page}", args=[job.pk])


def test_a_person_resolves_the_biz_types_that_were_chosen_and_lifts_it_again(
    person: Client, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    remind, close, ship = (make_biz_type(f"order.{code}") for code in ("remind", "pay", "ship"))
    job, reminder, shipping = (store_job(kind, biz_id="order-7") for kind in (close, remind, ship))
    store_job(biz_type, Status.SUCCEEDED, biz_id="order-7")

    page = person.get(url("change", job)).content.decode()
    asked = person.get(url("resolve", job)).content.decode()
    nothing = person.post(url("resolve", job), {}, follow=True).content.decode()
    # In a test's transaction the rest waits for a commit, which never comes.
    person.post(url("resolve", job), {"biz_type": [close.pk, remind.pk, biz_type.pk], "reason": "paid"})
    resolved = person.get(url("change", job)).content.decode()

    assert f'href="{url("resolve", job)}"' in page
    assert [code in asked for code in ("order.pay", "order.remind", "order.ship", "order.close")] == [True] * 3 + [
        False
    ]
    assert "choose a biz type" in nothing
    assert set(Tombstone.objects.values_list("biz_type_id", flat=True)) == {close.pk, remind.pk}
    assert set(AuditEntry.objects.values_list("verb", "reason")) == {("resolve", "paid")}
    assert "Biz id resolved" in resolved
    assert {reminder.status, shipping.status} == {Status.PENDING}

    person.get(url("lift", job))
    assert Tombstone.objects.count() == 2
    person.post(url("lift", job))
    assert Tombstone.objects.get().biz_type_id == remind.pk
    assert "Biz id resolved" not in person.get(url("change", job)).content.decode()


def test_a_person_answers_what_waits_for_an_answer(
    person: Client, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    make_biz_type("order.answered")
    BizType.objects.filter(pk=biz_type.pk).update(on_resolved="order.answered")
    job = store_job(biz_type, biz_id="order-7")
    fields = {"biz_type": [biz_type.pk], "outcome": "approved", "body": '{"by": "ada"}'}

    asked = person.get(url("resolve", job)).content.decode()
    wrong = person.post(url("resolve", job), {**fields, "body": "{"}, follow=True).content.decode()
    person.post(url("resolve", job), fields)
    other = person.post(url("resolve", job), {**fields, "outcome": "rejected"}, follow=True).content.decode()
    shown = person.get(url("change", job)).content.decode()
    # In a test's transaction no job takes it before a commit.
    Job.objects.filter(pk=job.pk).update(status=Status.CANCELLED, error_class="resolved")
    Tombstone.objects.update(answered_job=job.pk)
    followed = person.get(url("change", job)).content.decode()

    assert [url("lift", job) in page for page in (shown, followed)] == [True, False]
    assert 'name="outcome"' in asked
    assert "The answer must be JSON" in wrong
    assert "was answered with" in other
    assert Tombstone.objects.get().outcome == "approved"
    assert ["<bdi>approved</bdi>" in shown, "&quot;ada&quot;" in shown] == [True, True]


def test_an_answer_is_shown_with_the_masks_of_its_biz_types_and_of_the_jobs_own_values(
    person: Client, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    make_biz_type("order.answered", masked_fields=["/follows/answer/body/pin"])
    BizType.objects.filter(pk=biz_type.pk).update(on_resolved="order.answered", masked_fields=["/card", "/note"])
    job = store_job(BizType.objects.get(pk=biz_type.pk), biz_id="order-7", body='{"card": "4111-0042-ada"}')
    said = {"pin": "pin-8642", "note": "hush-hush", "by": "card 4111-0042-ada of eva"}

    person.post(url("resolve", job), {"biz_type": [biz_type.pk], "outcome": "approved", "body": json.dumps(said)})
    shown = person.get(url("change", job)).content.decode()

    assert "of eva" in shown
    assert [text in shown for text in ("pin-8642", "hush-hush", "4111-0042-ada")] == [False] * 3
    assert json.loads(Tombstone.objects.get().answer) == said


def test_an_answer_is_masked_where_no_key_opens_the_values_that_may_stand_in_it(
    person: Client, biz_type: BizType, make_biz_type: MakeBizType, settings: Any
) -> None:
    make_biz_type("order.answered")
    BizType.objects.filter(pk=biz_type.pk).update(on_resolved="order.answered", masked_fields=["/card"], encrypted=True)
    job = create("order.close", delay=60, biz_id="order-7", body={"card": "4111-0042-ada"}).job
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}

    said = {"biz_type": [biz_type.pk], "outcome": "approved", "body": '"card 4111-0042-ada of eva"'}
    person.post(url("resolve", job), said)
    shown = person.get(url("change", job)).content.decode()

    assert "<bdi>approved</bdi>" in shown
    assert "4111-0042-ada" not in shown


def test_what_followed_after_a_resolve_is_not_shown_as_resolved(person: Client, biz_type: BizType) -> None:
    person.post(url("resolve", store_job(biz_type, biz_id="order-7")), {"biz_type": [biz_type.pk]})
    followed = store_job(biz_type, biz_id="order-7", created_by="follow-up")

    assert "Biz id resolved" not in person.get(url("change", followed)).content.decode()


def test_a_job_that_has_succeeded_runs_again_as_a_new_one(person: Client, viewer: Client, biz_type: BizType) -> None:
    done, waiting = store_job(biz_type, Status.SUCCEEDED), store_job(biz_type)

    assert viewer.post(url("run_again", done)).status_code == 403
    person.get(url("run_again", done))
    refused = person.post(url("run_again", waiting), follow=True).content.decode()
    assert Job.objects.count() == 2
    shown = person.post(url("run_again", done), follow=True).content.decode()

    assert "cannot run again" in refused
    assert "This is a new job" in shown
    assert Job.objects.count() == 3
    assert url("run_again", done) in person.get(url("change", done)).content.decode()


def test_one_that_no_key_opens_does_not_run_again_and_that_is_said(
    person: Client, biz_type: BizType, settings: Any
) -> None:
    BizType.objects.update(encrypted=True)
    job = create("order.close", body={"card": 1}).job
    Job.objects.update(status=Status.SUCCEEDED)
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}

    shown = person.post(url("run_again", job), follow=True).content.decode()

    assert "Nothing was changed: no key of DELAYHUB" in shown
    assert Job.objects.count() == 1


def test_who_may_not_cancel_jobs_resolves_none(viewer: Client, biz_type: BizType) -> None:
    job, nameless = store_job(biz_type, biz_id="order-7"), store_job(biz_type)

    assert viewer.post(url("resolve", job), {"biz_type": biz_type.pk}).status_code == 403
    assert viewer.post(url("lift", job)).status_code == 403
    assert url("resolve", job) not in viewer.get(url("change", job)).content.decode()
    assert not Tombstone.objects.exists()
    assert nameless.biz_id == ""


def test_a_job_without_a_biz_id_has_nothing_to_resolve(person: Client, biz_type: BizType) -> None:
    job = store_job(biz_type)

    assert person.get(url("resolve", job)).status_code == 404
    assert url("resolve", job) not in person.get(url("change", job)).content.decode()
