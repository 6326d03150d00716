"""Every deed of a person, a key or a receiver leaves an entry; one that fails leaves none."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from tasksapp import jobs
from tasksapp.access.actors import RECEIVER, Actor
from tasksapp.biz_types import verbs
from tasksapp.errors import WrongState
from tasksapp.models import AuditEntry, BizType, Job, Status
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver, answering
from tests.integration.tasksapp.stored_jobs import in_status

pytestmark = pytest.mark.django_db(transaction=True)

ADA = Actor("ada", "192.0.2.7")
SECRET = "whsec_" + "b2xkIG9s" * 4


@pytest.mark.parametrize("verb", list(jobs.Verb))
def test_a_verb_says_in_the_row_and_in_an_entry_who_applied_it(biz_type: BizType, verb: jobs.Verb) -> None:
    job_id = in_status(verb.source)
    delay = 90 if verb is jobs.Verb.RESCHEDULE else None

    jobs.apply_many(verb, [job_id], delay=delay, by=ADA, reason="the shop asked")

    job, entry = Job.objects.get(), AuditEntry.objects.get()
    assert job.changed_by == "ada"
    assert (entry.actor, entry.address, entry.verb) == ("ada", "192.0.2.7", verb.word)
    assert (entry.job_id, entry.biz_type_id, entry.reason) == (job_id, biz_type.pk, "the shop asked")
    if verb.source != verb.transition.target:
        assert (entry.before["status"], entry.after["status"]) == (verb.source, verb.transition.target)
    assert "version" not in entry.after


def test_an_entry_of_one_job_says_what_was_before_and_what_is_after(biz_type: BizType) -> None:
    job_id = in_status(delay=timedelta(hours=1))
    before = Job.objects.get()

    jobs.reschedule(job_id, delay=7200, by=ADA)

    after, entry = Job.objects.get(), AuditEntry.objects.get()
    assert entry.before == {"due_at": before.due_at.isoformat(), "next_run_at": before.next_run_at.isoformat()}
    assert entry.after == {"due_at": after.due_at.isoformat(), "next_run_at": after.next_run_at.isoformat()}
    assert entry.what == f"order.close {job_id}"


def test_a_redrive_says_which_budget_is_new(biz_type: BizType) -> None:
    job_id = in_status(Status.DEAD, attempts=16, finished_at=timezone.now())

    job = jobs.redrive(job_id, by=ADA)

    assert (job.attempt_base, job.redrives) == (16, 1)
    assert Job.objects.get().attempt_base == 16
    assert (AuditEntry.objects.get().before["attempt_base"], AuditEntry.objects.get().after["attempt_base"]) == (0, 16)


def test_the_job_that_a_verb_gives_back_is_the_row(biz_type: BizType) -> None:
    job = jobs.cancel(in_status(), by=ADA)

    stored = Job.objects.get()
    for field in Job._meta.concrete_fields:
        assert getattr(job, field.attname) == getattr(stored, field.attname), field.attname


def test_the_projects_own_code_leaves_no_entry(biz_type: BizType) -> None:
    job_id = in_status()
    jobs.run_now(job_id, by=ADA)

    jobs.cancel(job_id)

    assert AuditEntry.objects.get().verb == "run_now"
    assert Job.objects.get().changed_by == ""


def test_a_verb_that_is_refused_or_undone_leaves_no_entry(biz_type: BizType) -> None:
    job_id = in_status()

    with pytest.raises(WrongState):
        jobs.redrive(job_id, by=ADA)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        jobs.cancel(job_id, by=ADA)
        _ = 1 / 0

    assert not AuditEntry.objects.exists()
    assert Job.objects.get().status == Status.PENDING


def test_many_jobs_have_an_entry_each(biz_type: BizType, django_assert_max_num_queries: Any) -> None:
    ids = [in_status() for _ in range(30)]

    with django_assert_max_num_queries(7):  # two of them begin and end the transaction
        jobs.apply_many(jobs.Verb.CANCEL, ids, by=ADA)

    assert set(AuditEntry.objects.values_list("job_id", flat=True)) == set(ids)


def test_a_receiver_that_cancels_other_jobs_is_named(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    make_biz_type("shop", url=receiver.url())
    jobs.create("shop", biz_id="order-7")
    other = jobs.create("shop", biz_id="order-7", delay=3600)
    receiver.answer = answering(200, DelayHub_Action="cancel-others")

    fire()

    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.verb, entry.job_id) == (RECEIVER.name, "cancel", other.job_id)
    assert Job.objects.get(id=other.job_id).changed_by == RECEIVER.name


def test_deeds_to_a_biz_type_are_recorded_without_its_secrets(biz_type: BizType) -> None:
    biz_type.max_attempts, biz_type.auth_secret = 3, "user:s3cret"
    verbs.edit(biz_type, {"max_attempts", "auth_secret"}, by=ADA)
    verbs.pause(biz_type, by=ADA, reason="db move")
    verbs.resume(biz_type, by=ADA)
    verbs.rotate_signing_secret(biz_type, SECRET, by=ADA)
    verbs.delete(biz_type, by=ADA)

    entries = list(AuditEntry.objects.order_by("id"))
    assert [entry.verb for entry in entries] == [
        "biz_type.edit", "biz_type.pause", "biz_type.resume", "biz_type.new_signing_secret", "biz_type.delete",
    ]  # fmt: skip
    assert entries[0].before == {"max_attempts": 16}
    assert entries[0].after == {"max_attempts": 3, "auth_secret_sealed": "changed"}
    assert entries[1].reason == "db move"
    assert entries[1].after["paused_by"] == "ada"
    assert {entry.what for entry in entries} == {"order.close"}
    assert "s3cret" not in str([(entry.before, entry.after) for entry in entries])


def test_a_paused_biz_type_says_who_paused_it_and_why_until_it_is_resumed(biz_type: BizType) -> None:
    verbs.pause(biz_type, by=ADA, reason="db move")
    paused = BizType.objects.get()
    assert (paused.paused_by, paused.pause_reason) == ("ada", "db move")

    verbs.resume(paused)

    resumed = BizType.objects.get()
    assert (resumed.paused_by, resumed.pause_reason) == ("", "")


def test_a_new_biz_type_is_recorded_with_what_it_was_given(db: None) -> None:
    verbs.add(BizType(code="new", url="https://shop.example", max_attempts=2), by=ADA)

    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.biz_type_id) == ("biz_type.add", BizType.objects.get().pk)
    assert entry.after == {"code": "new", "url": "https://shop.example", "max_attempts": 2}
