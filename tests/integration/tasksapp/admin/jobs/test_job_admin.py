"""Jobs in the admin: Django's own forms and buttons change none of them."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tasksapp.models import AuditEntry, BizType, Job
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


def test_jobs_are_neither_added_nor_changed_nor_deleted_by_hand(person: Client, biz_type: BizType) -> None:
    kept = store_job(biz_type)

    assert person.get(reverse("admin:tasksapp_job_add")).status_code == 403
    assert person.post(reverse("admin:tasksapp_job_delete", args=[kept.pk]), {"post": "yes"}).status_code == 403
    person.post(reverse("admin:tasksapp_job_change", args=[kept.pk]), {"priority": "1", "_save": "Save"})
    assert Job.objects.get().priority == 5


def test_the_history_is_what_was_done_to_the_job(person: Client, biz_type: BizType) -> None:
    job = store_job(biz_type)
    AuditEntry.objects.create(at=job.created_at, actor="grace", verb="reschedule", job_id=job.id)

    assert "grace" in person.get(reverse("admin:tasksapp_job_history", args=[job.pk])).content.decode()


def test_the_pages_begin_with_the_banner_while_redis_is_away(person: Client, biz_type: BizType) -> None:
    job = store_job(biz_type)

    for url in (reverse("admin:tasksapp_job_changelist"), reverse("admin:tasksapp_job_change", args=[job.pk])):
        assert "Redis does not answer: workers go on from the database" in person.get(url).content.decode()
