"""Tenants in the admin: who adds and renames them, what shows them, and that a biz type stays with its own."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp import jobs
from tasksapp.admin.api_keys.form import ApiKeyForm
from tasksapp.admin.biz_types.form import BizTypeForm
from tasksapp.models import ApiKey, AuditEntry, BizType, Tenant
from tasksapp.models.tenant import DEFAULT_TENANT
from tasksapp.sql.count_of_tenants import count_of_tenants
from tests.fixture_types import MakeBizType
from tests.html_form import form_fields
from tests.integration.tasksapp.at_once import at_once

pytestmark = pytest.mark.django_db

ADD = "admin:tasksapp_biztype_add"


@pytest.fixture
def acme(db: None) -> Tenant:
    return Tenant.objects.create(code="acme")


def page(person: Client, name: str, *arguments: Any, **query: str) -> str:
    return person.get(reverse(f"admin:{name}", args=arguments), query).content.decode()


def test_a_tenant_is_added_and_renamed_and_the_audit_says_so(person: Client) -> None:
    person.post(reverse("admin:tasksapp_tenant_add"), {"code": "acme", "name": "Acme"})
    tenant = Tenant.objects.get(code="acme")

    person.post(reverse("admin:tasksapp_tenant_change", args=[tenant.pk]), {"code": "acme", "name": "Acme Ltd"})

    entries = AuditEntry.objects.filter(verb__startswith="tenant.").order_by("id")
    assert [(entry.verb, entry.actor, entry.after) for entry in entries] == [
        ("tenant.add", "admin", {"code": "acme", "name": "Acme"}),
        ("tenant.edit", "admin", {"name": "Acme Ltd"}),
    ]
    assert "Acme Ltd" in page(person, "tasksapp_tenant_history", tenant.pk)


@pytest.mark.parametrize(("group", "status"), [("manager", 200), ("operator", 403), ("viewer", 403)])
def test_managers_add_tenants_and_others_do_not(client: Client, group: str, status: int) -> None:
    user = User.objects.create_user("ada", is_staff=True)
    user.groups.add(Group.objects.get(name=f"DelayHub {group}"))
    client.force_login(user)

    assert client.get(reverse("admin:tasksapp_tenant_add")).status_code == status
    assert client.get(reverse("admin:tasksapp_tenant_delete", args=[DEFAULT_TENANT])).status_code == 403


def test_a_tenant_that_owns_something_and_the_default_one_stay(person: Client, acme: Tenant) -> None:
    BizType.objects.create(code="order.close", tenant=acme)

    for tenant_id in (acme.pk, DEFAULT_TENANT):
        person.post(reverse("admin:tasksapp_tenant_delete", args=[tenant_id]), {"post": "yes"})

    assert Tenant.objects.count() == 2


def test_no_page_speaks_of_tenants_while_there_is_one_only(person: Client, biz_type: BizType) -> None:
    assert 'name="tenant"' not in page(person, "tasksapp_biztype_add")
    assert "Tenant:" not in page(person, "tasksapp_biztype_change", biz_type.pk, tab="general")
    assert "By tenant" not in page(person, "tasksapp_biztype_changelist")


def test_the_tenant_of_a_biz_type_is_chosen_when_it_is_made_and_stays(person: Client, acme: Tenant) -> None:
    fields = form_fields(page(person, "tasksapp_biztype_add"), "biztype_form")

    person.post(reverse(ADD), {**fields, "tenant": acme.pk, "code": "order.close", "url": "https://a.example/"})
    made = BizType.objects.get()
    assert made.label == "acme/order.close"
    address = reverse("admin:tasksapp_biztype_change", args=[made.pk]) + "?tab=general"
    fields = form_fields(person.get(address).content.decode(), "biztype_form")
    person.post(address, {**fields, "tenant": DEFAULT_TENANT, "name": "Theirs"})

    made.refresh_from_db()
    assert (made.tenant_id, made.name) == (acme.pk, "Theirs")


def test_a_code_is_refused_where_its_tenant_has_it(
    person: Client, acme: Tenant, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    make_biz_type("taken", tenant=acme)
    theirs = make_biz_type("free", tenant=acme)
    address = reverse("admin:tasksapp_biztype_change", args=[theirs.pk]) + "?tab=general"
    fields = form_fields(person.get(address).content.decode(), "biztype_form")

    refused = person.post(address, {**fields, "code": "taken"})
    person.post(address, {**fields, "code": biz_type.code})

    assert "There is a biz type of this code already." in refused.content.decode()
    assert BizType.objects.get(pk=theirs.pk).code == biz_type.code


def test_lists_and_filters_tell_tenants_apart(
    person: Client, acme: Tenant, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    make_biz_type(biz_type.code, tenant=acme)
    ours = jobs.create(biz_type.code, biz_id="ours", delay=600).job_id
    theirs = jobs.create(biz_type.code, biz_id="theirs", delay=600, tenant="acme").job_id

    listed = page(person, "tasksapp_biztype_changelist", tenant__id__exact=str(acme.pk))
    both = page(person, "tasksapp_job_changelist")
    of_theirs = page(person, "tasksapp_job_changelist", biz_type="acme/order.close")
    of_ours = page(person, "tasksapp_job_changelist", biz_type="order.close")

    assert listed.count("delayhub-code-name") == 1
    assert "acme/order.close" in listed
    assert "acme/order.close" in both
    assert (str(ours) in of_theirs, str(theirs) in of_theirs) == (False, True)
    assert (str(ours) in of_ours, str(theirs) in of_ours) == (True, False)


def test_lists_ask_no_more_for_many_tenants(
    person: Client, acme: Tenant, make_biz_type: MakeBizType, django_assert_max_num_queries: Any
) -> None:
    for number in range(15):
        make_biz_type(f"kind.{number}", tenant=acme)
        jobs.create(f"kind.{number}", delay=600, tenant="acme")

    for name in ("tasksapp_biztype_changelist", "tasksapp_job_changelist", "tasksapp_operation_changelist"):
        with django_assert_max_num_queries(14):
            page(person, name)


def test_the_page_of_a_tenant_shows_its_quotas_and_changes_them(person: Client, acme: Tenant) -> None:
    address = reverse("admin:tasksapp_tenant_change", args=[acme.pk])
    before = person.get(address).content.decode()
    count_of_tenants(now=timezone.now(), using="default", timeout_seconds=30)
    shown = person.get(address).content.decode()

    person.post(address, {**form_fields(shown, "tenant_form"), "most_series": "5"})

    assert "not counted yet" in before
    assert "0 of 20,000 series" in shown
    assert "Empty: 10,000,000, as for all tenants." in shown
    acme.refresh_from_db()
    assert (acme.most_series, acme.most_biz_types) == (5, None)
    assert AuditEntry.objects.get(verb="tenant.edit").after == {"most_series": 5}
    assert "0 of 5 series" in person.get(address).content.decode()


def test_forms_say_when_a_quota_is_used_up(person: Client, biz_type: BizType) -> None:
    Tenant.objects.update(most_series=0, most_biz_types=1, most_api_keys=0)
    keys, types = reverse("admin:tasksapp_apikey_add"), reverse(ADD)
    made = reverse("admin:tasksapp_series_add")

    answers = [
        person.post(keys, {"name": "shop", "scopes": ["jobs:read"], "enabled": "on"}),
        person.post(types, {**form_fields(person.get(types).content.decode(), "biztype_form"), "code": "more"}),
        person.post(made, {"biz_type": biz_type.pk, "name": "a", "every": "60", "time_zone": "UTC",
                           "overlap": "start", "catch_up": "latest", "body": "null"}),
    ]  # fmt: skip

    for answer, words in zip(answers, ("API keys, 0 of 0", "biz types, 1 of 1", "series, 0 of 0"), strict=True):
        assert f"The tenant&#x27;s quota is used up: {words}." in answer.content.decode()


@pytest.mark.postgresql_only  # SQLite lets one transaction write at a time
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("name", "form", "model"), [("apikey", ApiKeyForm, ApiKey), ("biztype", BizTypeForm, BizType)])
def test_of_two_forms_at_once_one_takes_the_last_place_and_the_other_says_so(
    person: Client, name: str, form: Any, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Tenant.objects.update(most_api_keys=1, most_biz_types=1)
    address, checked, clean = reverse(f"admin:tasksapp_{name}_add"), threading.Barrier(2), form.clean
    filled_in = form_fields(person.get(address).content.decode(), f"{name}_form")

    def slowly(self: Any) -> Any:
        cleaned = clean(self)
        with suppress(threading.BrokenBarrierError):  # where the second one waits for the first to be stored
            checked.wait(1)
        return cleaned

    monkeypatch.setattr(form, "clean", slowly)

    def add(word: str) -> str:
        other = Client()
        other.cookies = person.cookies
        own = (
            {"name": word, "scopes": ["jobs:read"]} if name == "apikey" else {"code": word, "url": "https://a.example/"}
        )
        return other.post(address, {**filled_in, **own}).content.decode()

    answers = at_once(lambda: add("one"), lambda: add("two"))

    assert sorted("quota is used up" in answer for answer in answers) == [False, True]
    assert model.objects.count() == 1
