"""Biz types in the admin: what a person may enter, and what they never see again."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from tasksapp.models import AuditEntry, BizType
from tests.biz_type_form import form_of
from tests.html_form import form_fields

pytestmark = pytest.mark.django_db

SECRET = "whsec_" + "c2VjcmV0" * 4


def change_page(biz_type: BizType) -> str:
    return reverse("admin:tasksapp_biztype_change", args=[biz_type.pk])


def test_a_biz_type_is_made_with_a_code_and_an_address(person: Client) -> None:
    fields = form_fields(person.get(reverse("admin:tasksapp_biztype_add")).content.decode(), "biztype_form")

    made = {**fields, "code": "order.close", "url": "https://receiver.example/hook"}
    person.post(reverse("admin:tasksapp_biztype_add"), made)

    biz_type = BizType.objects.get()
    assert (biz_type.max_attempts, biz_type.timeout_seconds, biz_type.lane) == (16, 10.0, "delayhub.timers")
    entry = AuditEntry.objects.get(verb="biz_type.add")
    assert (entry.actor, entry.what) == ("admin", "order.close")


@pytest.mark.parametrize("tab", ["general", "target", "retries", "limits", "all"])
def test_no_tab_shows_a_secret(person: Client, biz_type: BizType, tab: str) -> None:
    biz_type.auth, biz_type.auth_secret, biz_type.signing_secret = "bearer", "shop-token", SECRET
    biz_type.save()

    page = person.get(change_page(biz_type), {"tab": tab}).content.decode()

    assert 'aria-current="page"' in page or tab == "all"
    for hidden in ("c2VjcmV0", biz_type.signing_secret_sealed, "shop-token", biz_type.auth_secret_sealed):
        assert hidden not in page


def test_a_tab_stores_its_own_fields_and_nothing_else(person: Client, biz_type: BizType) -> None:
    limits = f"{change_page(biz_type)}?tab=limits"
    fields = form_fields(person.get(limits).content.decode(), "biztype_form")
    assert "url" not in fields
    BizType.objects.update(url="https://receiver.example/theirs", name="Theirs")

    answer = person.post(limits, {**fields, "delivery_rate": "500"})

    assert (answer.status_code, answer.headers["Location"]) == (302, limits)
    stored = BizType.objects.get()
    assert (stored.delivery_rate, stored.url, stored.name) == (500.0, "https://receiver.example/theirs", "Theirs")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.verb, entry.after) == ("admin", "biz_type.edit", {"delivery_rate": 500.0})


def test_a_tab_can_be_saved_while_another_one_has_a_fault(person: Client, biz_type: BizType) -> None:
    BizType.objects.update(lane="gone")
    retries = f"{change_page(biz_type)}?tab=retries"
    fields = form_fields(person.get(retries).content.decode(), "biztype_form")

    person.post(retries, {**fields, "max_attempts": "5"})

    assert BizType.objects.get().max_attempts == 5


def test_the_schedule_of_what_was_typed_is_shown_and_nothing_is_stored(person: Client, biz_type: BizType) -> None:
    retries = f"{change_page(biz_type)}?tab=retries"
    page = person.get(retries).content.decode()
    assert "gives up after 16 attempts, 7 h 25 min to 8 h 9 min" in page

    typed = {**form_fields(page, "biztype_form"), "max_attempts": "3", "jitter": "0", "_show_schedule": "1"}
    shown = person.post(retries, typed)

    assert "Waits 10 s, 20 s; gives up after 3 attempts, 30 s." in shown.content.decode()
    assert form_fields(shown.content.decode(), "biztype_form")["max_attempts"] == "3"
    assert not shown.context["adminform"].form.errors
    assert BizType.objects.get().max_attempts == 16


def test_there_is_no_schedule_of_what_cannot_be(person: Client, biz_type: BizType) -> None:
    retries = f"{change_page(biz_type)}?tab=retries"
    fields = form_fields(person.get(retries).content.decode(), "biztype_form")

    shown = person.post(retries, {**fields, "backoff": "list", "backoff_list": "[]", "_show_schedule": "1"})

    assert "Correct what is marked" in shown.content.decode()


def test_the_address_of_the_form_fills_in_nothing(person: Client) -> None:
    address = "https://receiver.example/hook"

    answer = person.get(reverse("admin:tasksapp_biztype_add"), {"url": address, "paused_until": "2026-12-01"})

    assert answer.status_code == 200
    assert address not in answer.content.decode()


def test_credentials_are_typed_again_for_another_server(person: Client) -> None:
    secret = {"auth": "bearer", "auth_secret": "shop-token"}
    person.post(reverse("admin:tasksapp_biztype_add"), form_of(secret))
    assert BizType.objects.get().token_fields == {}
    change = reverse("admin:tasksapp_biztype_change", args=[BizType.objects.get().pk])

    elsewhere = {"auth": "bearer", "url": "https://evil.example/hook"}
    refused = person.post(change, form_of(elsewhere))
    assert "another host" in refused.context["adminform"].form.errors["auth_secret"][0]
    assert BizType.objects.get().url == "https://receiver.example/hook"

    person.post(change, form_of({"auth": "bearer", "url": "https://receiver.example/other"}))
    assert BizType.objects.get().auth_secret == "shop-token"
    person.post(change, form_of({**elsewhere, "auth_secret": "their-token"}))
    assert BizType.objects.get().auth_secret == "their-token"


def test_credentials_for_another_host_take_the_permission_to_change_secrets(
    client: Client, django_user_model: Any, biz_type: BizType
) -> None:
    biz_type.auth, biz_type.auth_secret = "bearer", "shop-token"
    biz_type.save()
    editor = django_user_model.objects.create_user("editor", password="x", is_staff=True)
    editor.user_permissions.add(Permission.objects.get(codename="change_biztype"))
    client.force_login(editor)
    target = f"{change_page(biz_type)}?tab=target"
    fields = form_fields(client.get(target).content.decode(), "biztype_form")
    assert "auth_secret" not in fields

    elsewhere = {**fields, "url": "https://evil.example/hook", "auth_secret": "mine"}
    refused = client.post(target, elsewhere)

    assert "may change secrets" in refused.context["adminform"].form.errors["url"][0]
    stored = BizType.objects.get()
    assert (stored.url, stored.auth_secret) == (biz_type.url, "shop-token")
    assert client.post(target, {**fields, "url": f"{biz_type.url}/2"}).status_code == 302


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
        ({"headers": '{"Authorization": "Bearer x"}'}, "headers"),
        ({"url": "http://a..b/"}, "url"),
        ({"permanent_status_codes": "[200]"}, "permanent_status_codes"),
        ({"delivery_rate": "1e308"}, "delivery_rate"),
        ({"auth": "bearer", "auth_secret": "tök\r\nén"}, "auth_secret"),
        ({"auth": "basic"}, "auth_secret"),
        ({"headers": '{"X-A": "a\\r\\nb"}'}, "headers"),
        ({"headers": "[]"}, "headers"),
        ({"target": "celery", "task_name": ""}, "task_name"),
        ({"backoff": "list", "backoff_list": "[]"}, "backoff_list"),
        ({"backoff_list": '["x"]'}, "backoff_list"),
        ({"permanent_status_codes": "[42]"}, "permanent_status_codes"),
        ({"backoff_max_seconds": "1"}, "backoff_max_seconds"),
        ({"lane": "nobody"}, "lane"),
        ({"max_attempts": "0"}, "max_attempts"),
    ],
)
def test_a_bad_biz_type_is_refused_at_its_field(person: Client, fields: dict[str, Any], field: str) -> None:
    answer = person.post(reverse("admin:tasksapp_biztype_add"), form_of(fields))

    assert answer.status_code == 200
    assert field in answer.context["adminform"].form.errors
    assert not BizType.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("key_is_lost", [False, True])
def test_a_viewer_sees_no_secret(client: Client, django_user_model: Any, settings: Any, *, key_is_lost: bool) -> None:
    keys = [Fernet.generate_key().decode() for _ in range(2)]
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": keys[:1]}
    biz_type = BizType(code="order.close", url="https://shop.example/hooks", headers={"X-Api-Key": "header-key"})
    biz_type.auth_secret, biz_type.signing_secret = "user:basic-password", "whsec_c2lnbmluZy1zZWNyZXQtb2YtMjQtYnl0ZXMh"
    biz_type.save()
    viewer = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_biztype"))
    client.force_login(viewer)
    if key_is_lost:
        settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": keys[1:]}

    pages = [client.get(change_page(biz_type), {"tab": tab}) for tab in ("", "target", "all")]

    assert {page.status_code for page in pages} == {200}
    assert "X-Api-Key" in pages[1].content.decode()
    text = "".join(page.content.decode() for page in pages)
    for secret in ("header-key", "basic-password", biz_type.signing_secret_sealed, "c2lnbmluZy1zZWNyZXQ"):
        assert secret not in text
