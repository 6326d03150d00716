"""The list of what was done: it finds by name, deed, biz type and time, and shows no more than one may see."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed, entry, record
from tasksapp.biz_types import verbs
from tasksapp.models import AuditEntry, BizType

pytestmark = pytest.mark.django_db

LIST = "admin:tasksapp_auditentry_changelist"
ADA, SHOP = Actor("ada", "192.0.2.7"), Actor("api:shop")


def rows(person: Client, **query: Any) -> list[AuditEntry]:
    response = person.get(reverse(LIST), query)
    assert response.status_code == 200
    return list(response.context["cl"].result_list)


@pytest.fixture
def entries(biz_type: BizType) -> list[AuditEntry]:
    job_id = uuid4()
    made = [
        entry(Deed.CANCEL, by=ADA, job_id=job_id, biz_type_id=biz_type.pk, what="order.close 7", reason="duplicate"),
        entry(Deed.EDIT, by=SHOP, job_id=job_id, before={"body": '"old"'}, after={"body": '"4711"'}),
        entry(Deed.ISSUE_KEY, by=ADA, what="checkout"),
    ]
    record(made, using="default")
    return made


def test_entries_are_found_by_name_deed_biz_type_time_and_job(
    person: Client, entries: list[AuditEntry], biz_type: BizType
) -> None:
    cancelled, edited, issued = entries

    assert rows(person) == [issued, edited, cancelled]
    assert rows(person, actor="ada") == [issued, cancelled]
    assert rows(person, verb="cancel") == [cancelled]
    assert rows(person, biz_type=biz_type.pk) == [cancelled]
    assert rows(person, at__gte="2000-01-01T00:00:00Z") == [issued, edited, cancelled]
    assert rows(person, q="api:shop") == [edited]
    assert rows(person, q=str(cancelled.job_id)) == [edited, cancelled]


@pytest.mark.parametrize(
    "query", [{"actor": "a\0"}, {"biz_type": "x"}, {"biz_type": "9" * 40}, {"verb": "nothing"}, {"q": "\0"}, {"p": "x"}]
)
def test_nonsense_in_the_address_breaks_nothing(
    person: Client, entries: list[AuditEntry], query: dict[str, str]
) -> None:
    assert person.get(reverse(LIST), query).status_code in {200, 302, 400}


def test_an_entry_leads_to_what_it_is_about(person: Client, entries: list[AuditEntry]) -> None:
    page = person.get(reverse(LIST)).content.decode()

    assert reverse("admin:tasksapp_job_change", args=[entries[0].job_id]) in page
    assert "duplicate" in page


@pytest.mark.parametrize("page", ["change", "history"])
def test_the_title_of_an_entry_has_no_word_that_is_for_programs(
    person: Client, entries: list[AuditEntry], page: str
) -> None:
    shown = person.get(reverse(f"admin:tasksapp_auditentry_{page}", args=[entries[2].pk])).content.decode()

    assert f"ada {timezone.localtime(entries[2].at):%Y-%m-%d}" in shown
    assert str(Deed.ISSUE_KEY) not in shown


def test_a_body_is_shown_only_to_those_who_may_see_bodies(client: Client, entries: list[AuditEntry]) -> None:
    reader = User.objects.create_user("reader", is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_auditentry"))
    client.force_login(reader)
    address = reverse("admin:tasksapp_auditentry_change", args=[entries[1].pk])

    assert "4711" not in client.get(reverse(LIST)).content.decode()
    assert "4711" not in client.get(address).content.decode()
    reader.user_permissions.add(Permission.objects.get(codename="view_job_body"))
    assert "4711" in client.get(reverse(LIST)).content.decode()
    assert "4711" in client.get(address).content.decode()


def test_no_one_changes_or_deletes_an_entry(person: Client, entries: list[AuditEntry]) -> None:
    for page in ("change", "delete"):
        person.post(reverse(f"admin:tasksapp_auditentry_{page}", args=[entries[0].pk]), {"actor": "eve"})
    assert person.get(reverse("admin:tasksapp_auditentry_add")).status_code == 403

    assert AuditEntry.objects.get(pk=entries[0].pk).actor == "ada"


def test_the_list_takes_few_queries(person: Client, biz_type: BizType, django_assert_max_num_queries: Any) -> None:
    for number in range(20):
        verbs.pause(biz_type, by=Actor(f"person-{number}"))

    with django_assert_max_num_queries(12):
        person.get(reverse(LIST))
