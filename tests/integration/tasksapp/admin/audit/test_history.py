"""Django's link "History" leads to the audit."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.admin.audit.history import PAGE_ENTRIES
from tasksapp.biz_types import verbs
from tasksapp.models import ApiKey, AuditEntry, BizType, Job
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db

ADA = Actor("ada", "192.0.2.7")
SECRET = "whsec_" + "b2xkIG9s" * 4


def history(person: Client, row: Any) -> str:
    address = reverse(f"admin:tasksapp_{row._meta.model_name}_history", args=[row.pk])
    return person.get(address).content.decode()


def test_a_job_that_was_cancelled_says_by_whom_and_why(person: Client, biz_type: BizType) -> None:
    job = store_job(biz_type)
    jobs.cancel(job.id, by=ADA, reason="duplicate import")

    page = history(person, job)

    assert "ada" in page
    assert "192.0.2.7" in page
    assert "duplicate import" in page
    assert "cancelled" in page
    assert "probably" not in page


def test_a_row_that_was_never_changed_says_so(person: Client, biz_type: BizType) -> None:
    assert "This has not been changed" in history(person, store_job(biz_type))


def test_a_press_of_a_button_is_in_the_audit_and_among_the_persons_recent_actions(
    person: Client, biz_type: BizType
) -> None:
    job = store_job(biz_type)

    person.post(reverse("admin:tasksapp_job_cancel", args=[job.id]))

    assert AuditEntry.objects.get().actor == LogEntry.objects.get().user.get_username() == "admin"
    assert LogEntry.objects.get().object_id == str(job.id)
    assert Job.objects.get().changed_by == "admin"


def test_the_history_of_a_biz_type_has_no_deeds_to_its_jobs_and_no_secrets(person: Client, biz_type: BizType) -> None:
    jobs.cancel(store_job(biz_type).id, by=Actor("bob"))
    verbs.rotate_signing_secret(biz_type, SECRET, by=ADA)

    page = history(person, biz_type)

    assert "new signing secret" in page
    assert SECRET not in page
    assert "bob" not in page


def test_an_api_key_says_who_issued_and_disabled_it(person: Client) -> None:
    may = {"scopes": ["jobs:read"]}
    person.post(reverse("admin:tasksapp_apikey_add"), {"name": "checkout", "enabled": "on", **may})
    row = ApiKey.objects.get()
    person.post(reverse("admin:tasksapp_apikey_change", args=[row.pk]), {"name": "till", **may})

    page = history(person, row)

    assert list(AuditEntry.objects.order_by("id").values_list("verb", flat=True)) == [
        "key.issue", "key.disable", "key.edit",
    ]  # fmt: skip
    assert "disable API key" in page
    assert row.hashed_key not in page


def test_a_deleted_key_is_recorded(person: Client) -> None:
    row = ApiKey.objects.create(name="checkout", prefix="dh_abc", hashed_key="x")

    person.post(reverse("admin:tasksapp_apikey_delete", args=[row.pk]), {"post": "yes"})

    assert AuditEntry.objects.get().what == "checkout (dh_abc…)"


def test_a_long_history_has_pages(person: Client, biz_type: BizType, django_assert_max_num_queries: Any) -> None:
    for number in range(PAGE_ENTRIES + 1):
        verbs.pause(biz_type, by=Actor(f"person-{number}"))

    with django_assert_max_num_queries(14):
        first = history(person, biz_type)

    assert "?p=2" in first
    address = reverse("admin:tasksapp_biztype_history", args=[biz_type.pk])
    assert "person-0<" in person.get(address, {"p": "2"}).content.decode()
