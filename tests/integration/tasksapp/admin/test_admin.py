"""The admin: what a person sees and does, and what they are told when it cannot be done."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp.access.keys import find_key, issue_key
from tasksapp.models import ApiKey, Attempt, BizType, Job, Status
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db
JOBS = "admin:tasksapp_job_changelist"


@pytest.fixture
def person(admin_client: Client, settings: Any) -> Client:
    """A superuser's browser."""
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}  # the database decides
    return admin_client


def form_of(biz_type: dict[str, Any]) -> dict[str, Any]:
    """A biz type form with good values, apart from those given."""
    return {
        "code": "order.close",
        "enabled": "on",
        "target": "http",
        "method": "POST",
        "url": "https://receiver.example/hook",
        "headers": "{}",
        "auth": "none",
        "timeout_seconds": "10",
        "max_attempts": "16",
        "backoff": "exponential",
        "backoff_min_seconds": "10",
        "backoff_max_seconds": "3600",
        "backoff_factor": "2",
        "backoff_list": "[]",
        "jitter": "0.1",
        "permanent_status_codes": "[]",
        "insert_burst": "100",
        "delivery_burst": "1",
        "weight": "1",
        "priority": "5",
        "guarantee": "at_least_once",
        "when_late": "fire",
        "retention": "30 00:00:00",
        "lane": "delayhub.timers",
        **biz_type,
    }


@pytest.mark.parametrize("name", ["biztype", "job", "apikey"])
def test_every_page_opens(person: Client, biz_type: BizType, name: str) -> None:
    store_job(biz_type)
    issue_key("caller")
    model = {"biztype": BizType, "job": Job, "apikey": ApiKey}[name]

    assert person.get(reverse(f"admin:tasksapp_{name}_changelist")).status_code == 200
    (row,) = model.objects.all()  # type: ignore[attr-defined]  # the three have nothing in common
    assert person.get(reverse(f"admin:tasksapp_{name}_change", args=[row.pk])).status_code == 200


def test_the_index_counts_jobs_by_biz_type(person: Client, biz_type: BizType) -> None:
    store_job(biz_type)
    store_job(biz_type, Status.DEAD)

    page = person.get(reverse("admin:index")).content.decode()

    assert "Jobs by biz type" in page
    assert "order.close" in page
    assert f"biz_type__id__exact={biz_type.pk}&amp;status__exact=dead" in page


def test_a_biz_type_is_made_and_its_secret_is_never_shown(person: Client) -> None:
    secret = "whsec_" + "c2VjcmV0" * 4

    answer = person.post(reverse("admin:tasksapp_biztype_add"), form_of({"signing_secret": secret}))

    biz_type = BizType.objects.get()
    assert answer.status_code == 302
    assert biz_type.signing_secret == secret
    assert secret not in biz_type.signing_secret_sealed
    page = person.get(reverse("admin:tasksapp_biztype_change", args=[biz_type.pk])).content.decode()
    assert "c2VjcmV0" not in page
    assert biz_type.signing_secret_sealed not in page


def test_an_empty_secret_keeps_the_old_one_and_a_new_one_rotates(person: Client) -> None:
    old, new = ("whsec_" + text * 4 for text in ("b2xkIG9s", "bmV3IG5l"))
    person.post(reverse("admin:tasksapp_biztype_add"), form_of({"signing_secret": old}))
    change = reverse("admin:tasksapp_biztype_change", args=[BizType.objects.get().pk])

    person.post(change, form_of({"name": "Orders"}))
    assert (BizType.objects.get().name, BizType.objects.get().signing_secret) == ("Orders", old)
    person.post(change, form_of({"signing_secret": new}))

    biz_type = BizType.objects.get()
    assert (biz_type.signing_secret, biz_type.previous_signing_secret) == (new, old)
    assert biz_type.previous_secret_until is not None
    assert biz_type.previous_secret_until > timezone.now()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"code": "Order Close"}, "code"),
        ({"url": ""}, "url"),
        ({"url": "ftp://receiver.example/"}, "url"),
        ({"url": "http://127.0.0.1/"}, "url"),
        ({"url": "http://169.254.169.254/latest/meta-data/"}, "url"),
        ({"url": "http://[::ffff:10.0.0.1]/"}, "url"),
        ({"url": "http://user:password@receiver.example/"}, "url"),
        ({"headers": '{"Host": "x"}'}, "headers"),
        ({"headers": '{"webhook-id": "x"}'}, "headers"),
        ({"headers": '{"X-A": "a\\r\\nb"}'}, "headers"),
        ({"headers": "[]"}, "headers"),
        ({"target": "celery", "task_name": ""}, "task_name"),
        ({"backoff": "list", "backoff_list": "[]"}, "backoff_list"),
        ({"backoff_list": '["x"]'}, "backoff_list"),
        ({"permanent_status_codes": "[42]"}, "permanent_status_codes"),
        ({"backoff_max_seconds": "1"}, "backoff_max_seconds"),
        ({"signing_secret": "short"}, "signing_secret"),
        ({"lane": "nobody"}, "lane"),
        ({"max_attempts": "0"}, "max_attempts"),
    ],
)
def test_a_bad_biz_type_is_refused_at_its_field(person: Client, fields: dict[str, Any], field: str) -> None:
    answer = person.post(reverse("admin:tasksapp_biztype_add"), form_of(fields))

    assert answer.status_code == 200
    assert field in answer.context["adminform"].form.errors
    assert not BizType.objects.exists()


def test_biz_types_are_paused_and_resumed(person: Client, biz_type: BizType) -> None:
    url = reverse("admin:tasksapp_biztype_changelist")

    person.post(url, {"action": "pause", "_selected_action": [biz_type.pk]})
    assert BizType.objects.get().is_paused
    page = person.get(url).content.decode()
    assert "paused" in page
    person.post(url, {"action": "resume", "_selected_action": [biz_type.pk]})

    biz_type = BizType.objects.get()
    assert not biz_type.is_paused
    assert biz_type.resumed_at is not None


@pytest.mark.parametrize(
    ("action", "before", "after", "other"),
    [
        ("cancel", Status.PENDING, Status.CANCELLED, Status.DEAD),
        ("run_now", Status.PENDING, Status.PENDING, Status.DEAD),
        ("redrive", Status.DEAD, Status.PENDING, Status.SUCCEEDED),
        ("drop", Status.DEAD, Status.DROPPED, Status.PENDING),
    ],
)
def test_an_action_changes_what_it_may_and_says_what_it_left(
    person: Client, biz_type: BizType, action: str, before: Status, after: Status, other: Status
) -> None:
    chosen, left = store_job(biz_type, before), store_job(biz_type, other)

    answer = person.post(reverse(JOBS), {"action": action, "_selected_action": [chosen.pk, left.pk]}, follow=True)

    chosen.refresh_from_db()
    left.refresh_from_db()
    assert (chosen.status, left.status) == (after, other)
    told = [str(message) for message in answer.context["messages"]]
    assert told[0].startswith("1 job ")
    assert "1 job left alone" in told[1]


def test_jobs_are_moved_to_the_time_that_was_given(person: Client, biz_type: BizType, settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    moved = store_job(biz_type)
    asked = person.post(reverse(JOBS), {"action": "reschedule", "_selected_action": [moved.pk]})
    assert b"Europe/Berlin" in asked.content

    given = {"due_at_0": "2030-07-01", "due_at_1": "12:00:00", "_selected_action": [str(moved.pk)]}
    person.post(reverse("admin:tasksapp_job_reschedule"), given)

    moved.refresh_from_db()
    assert moved.due_at.isoformat() == "2030-07-01T10:00:00+00:00"


@pytest.mark.parametrize("when", [("", ""), ("2300-01-01", "00:00:00"), ("soon", "later")])
def test_a_time_that_cannot_be_moves_nothing(person: Client, biz_type: BizType, when: tuple[str, str]) -> None:
    kept = store_job(biz_type)

    given = {"due_at_0": when[0], "due_at_1": when[1], "_selected_action": [str(kept.pk)]}
    answer = person.post(reverse("admin:tasksapp_job_reschedule"), given)

    assert answer.context["form"].errors
    assert Job.objects.get().due_at == kept.due_at


def test_a_jobs_page_shows_its_attempts_and_only_the_buttons_its_status_allows(
    person: Client, biz_type: BizType
) -> None:
    dead = store_job(biz_type, Status.DEAD, last_error="500", attempts=1)
    Attempt.objects.create(
        job=dead, number=1, started_at=timezone.now(), duration_ms=3, lateness_ms=1, status_code=500, error="HTTP 500"
    )

    page = person.get(reverse("admin:tasksapp_job_change", args=[dead.pk])).content.decode()

    assert "HTTP 500" in page
    assert "&quot;order&quot;: 42" in page
    assert ">Redrive</button>" in page
    assert ">Drop</button>" in page
    assert ">Cancel</button>" not in page


def test_a_button_acts_and_needs_a_post(person: Client, biz_type: BizType) -> None:
    dead = store_job(biz_type, Status.DEAD)
    url = reverse("admin:tasksapp_job_redrive", args=[dead.pk])

    person.get(url)
    assert Job.objects.get().status == Status.DEAD
    person.post(url)
    assert Job.objects.get().status == Status.PENDING


def test_jobs_are_found_by_id_and_by_biz_id(person: Client, biz_type: BizType) -> None:
    found, _ = store_job(biz_type, biz_id="A-1"), store_job(biz_type, biz_id="A-2")

    def results(term: str) -> list[Job]:
        return list(person.get(reverse(JOBS), {"q": term}).context["cl"].result_list)

    assert results(str(found.pk)) == [found]
    assert results("A-1") == [found]
    assert results("A-") == []
    assert results("") != []


def test_a_long_list_is_not_counted_to_its_end(
    person: Client, biz_type: BizType, django_assert_max_num_queries: Any
) -> None:
    for _ in range(60):
        store_job(biz_type)

    with django_assert_max_num_queries(12) as queries:
        person.get(reverse(JOBS))

    counts = [
        query["sql"]
        for query in queries.captured_queries
        if "COUNT(" in query["sql"] and "delayhub_job" in query["sql"]
    ]
    assert counts
    assert all("LIMIT" in sql for sql in counts)


def test_an_api_key_is_shown_once_and_works(person: Client) -> None:
    answer = person.post(reverse("admin:tasksapp_apikey_add"), {"name": "shop", "enabled": "on"}, follow=True)

    (message,) = [str(message) for message in answer.context["messages"] if "<code>" in str(message)]
    key = message.partition("<code>")[2].partition("</code>")[0]
    owner = find_key(key)
    assert owner is not None
    assert owner.name == "shop"
    assert key not in person.get(reverse("admin:tasksapp_apikey_change", args=[owner.pk])).content.decode()


def test_jobs_are_neither_added_nor_deleted_by_hand(person: Client, biz_type: BizType) -> None:
    kept = store_job(biz_type)

    assert person.get(reverse("admin:tasksapp_job_add")).status_code == 403
    assert person.post(reverse("admin:tasksapp_job_delete", args=[kept.pk]), {"post": "yes"}).status_code == 403
    assert Job.objects.exists()


def test_somebody_without_permission_cannot_act(client: Client, django_user_model: Any, biz_type: BizType) -> None:
    client.force_login(django_user_model.objects.create_user("viewer", password="x", is_staff=True))
    dead = store_job(biz_type, Status.DEAD)

    client.post(reverse("admin:tasksapp_job_redrive", args=[dead.pk]))
    client.post(reverse("admin:tasksapp_job_reschedule"), {"_selected_action": [str(dead.pk)]})

    assert Job.objects.get().status == Status.DEAD
