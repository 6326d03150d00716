"""The form that edits a waiting job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from tasksapp import jobs
from tasksapp.delivery.own_request import OwnRequest, read_own_request
from tasksapp.jobs.exact_bytes import content_type_of
from tasksapp.models import AuditEntry, BizType, Job, Status
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db
BODY = '{"amount": 1e2, "order": 90071992547409931}'


@pytest.fixture
def job(biz_type: BizType) -> Job:
    return store_job(biz_type, body=BODY, due_in=timedelta(hours=3))


def opened(person: Client, job: Job) -> dict[str, Any]:
    """What a browser posts where the person changes nothing."""
    form = person.get(reverse("admin:tasksapp_job_edit", args=[job.pk])).context["form"]
    return {bound.html_name: bound.value() if bound.value() is not None else "" for bound in form} | {
        "due_at": form["due_at"].value().strftime("%Y-%m-%dT%H:%M:%S")
    }


def post(person: Client, job: Job, given: dict[str, Any]) -> Any:
    return person.post(reverse("admin:tasksapp_job_edit", args=[job.pk]), given)


def test_a_person_changes_a_waiting_job(person: Client, job: Job, settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    given = opened(person, job)
    changed = {"body": '{"amount": 2.50}', "priority": "1", "max_attempts": "3", "due_at": "2030-07-01T12:00:00"}

    answer = post(person, job, {**given, **changed, "reason": "the customer waits"})

    stored, entry = Job.objects.get(), AuditEntry.objects.get()
    assert answer.url == reverse("admin:tasksapp_job_change", args=[job.pk])
    assert (stored.body, stored.priority, stored.max_attempts) == ('{"amount": 2.50}', 1, 3)
    assert stored.due_at == stored.next_run_at == datetime(2030, 7, 1, 10, tzinfo=UTC)
    assert (entry.verb, entry.actor, entry.reason) == ("edit", "admin", "the customer waits")


def test_a_form_that_is_sent_back_unchanged_changes_nothing(person: Client, job: Job) -> None:
    post(person, job, opened(person, job))

    stored = Job.objects.get()
    assert (stored.version, stored.body, stored.due_at) == (1, BODY, job.due_at)
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("body", '{"a": NaN}', "This is not JSON"),
        ("body", '{"a": 1, "a": 2}', "given twice"),
        ("body", "", "required"),
        ("body", '{"a": "\\u0000"}', "NUL"),
        ("body", "[" * 40 + "]" * 40, "nested"),
        ("body", '{"a": 99999999999999999999999}', "64 bits"),
        ("body", '"' + "a" * 70_000 + '"', "bytes"),
        ("priority", "10", "less than or equal to 9"),
        ("max_attempts", "0", "greater than or equal to 1"),
        ("due_at", "soon", "valid date/time"),
        ("due_at", "2300-01-01T00:00:00", "100 years"),
    ],
)
def test_what_no_job_can_have_is_refused_beside_its_field(
    person: Client, job: Job, field: str, value: str, why: str
) -> None:
    answer = post(person, job, {**opened(person, job), field: value})

    assert answer.status_code == 200
    assert why in str(answer.context["form"].errors[field])
    assert Job.objects.get().version == 1


def test_a_job_that_changed_meanwhile_is_left_alone(person: Client, job: Job) -> None:
    given = opened(person, job)
    Job.objects.update(version=2)

    answer = post(person, job, {**given, "priority": "1"})

    assert "has changed since you opened this form" in str(answer.context["form"].non_field_errors())
    assert Job.objects.get().priority == 5


def test_a_job_that_no_longer_waits_cannot_be_edited(person: Client, job: Job) -> None:
    given = opened(person, job)
    Job.objects.update(status=Status.RUNNING)

    answer = person.post(reverse("admin:tasksapp_job_edit", args=[job.pk]), {**given, "priority": "1"}, follow=True)

    assert "can no longer be edited: it is running" in answer.content.decode()
    assert Job.objects.get().priority == 5


def test_fewer_attempts_than_were_made_are_refused(person: Client, job: Job) -> None:
    Job.objects.update(attempts=4)

    answer = post(person, job, {**opened(person, job), "max_attempts": "4"})

    assert "more than the 4 attempts" in str(answer.context["form"].errors["max_attempts"])


def test_who_may_not_see_bodies_edits_all_but_the_body(client: Client, django_user_model: Any, job: Job) -> None:
    user = django_user_model.objects.create_user("mover", password="x", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_job", "reschedule_job"]))
    client.force_login(user)
    given = opened(client, job)

    assert "body" not in given
    post(client, job, {**given, "priority": "1", "body": '"theirs"'})

    assert (Job.objects.get().priority, Job.objects.get().body) == (1, BODY)


def test_who_may_not_move_jobs_may_not_edit_them(client: Client, django_user_model: Any, job: Job) -> None:
    user = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_job", "view_job_body", "redrive_job"]))
    client.force_login(user)
    url = reverse("admin:tasksapp_job_edit", args=[job.pk])

    assert client.get(url).status_code == 403
    assert client.post(url, {"priority": "1"}).status_code == 403


def test_a_person_edits_its_end_and_its_own_request_and_keeps_its_secrets(
    person: Client, job: Job, settings: Any
) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    secret = OwnRequest(sealed={"Authorization": "gAAAA"}, origin="https://shop.example").text()
    Job.objects.update(request=secret)
    given = opened(person, job)

    wrong = post(person, job, {**given, "timeout_seconds": "99", "expires_at": ""})
    post(person, job, {**given, "timeout_seconds": "2.5", "expires_at": "2030-07-01T12:00:00"})

    stored = Job.objects.get()
    own = read_own_request(stored.request)
    assert "may be 10, the timeout of order.close" in str(wrong.context["form"].errors["timeout_seconds"])
    assert stored.expires_at == datetime(2030, 7, 1, 10, tzinfo=UTC)
    assert (own.timeout_seconds, own.sealed) == (2.5, {"Authorization": "gAAAA"})
    assert opened(person, job)["expires_at"].strftime("%H:%M") == "12:00"


def test_a_text_is_edited_as_it_is_and_other_bytes_stay(person: Client, biz_type: BizType) -> None:
    job = jobs.create("order.close", delay=600, raw=b"<a>\r\n</a>\r\n", content_type="text/xml").job
    form = opened(person, job)

    post(person, job, form)  # as a browser sends it back: nothing changes
    job.refresh_from_db()
    assert (bytes(job.raw or b""), job.version) == (b"<a>\r\n</a>\r\n", 1)

    post(person, job, {**form, "body": "<b>\r\n</b>\r\n", "content_type": "application/xml"})
    job.refresh_from_db()
    assert (bytes(job.raw or b""), content_type_of(job.request)) == (b"<b>\r\n</b>\r\n", "application/xml")

    assert post(person, job, {**opened(person, job), "content_type": "xml"}).status_code == 200
    jobs.edit(job.id, raw=b"\xff")
    page = person.get(reverse("admin:tasksapp_job_edit", args=[job.id])).content.decode()
    assert ("The body is bytes that are no text" in page, 'name="body"' in page) == (True, False)
