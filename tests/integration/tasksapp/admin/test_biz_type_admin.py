"""Biz types in the admin: what a person may enter, and what they never see again."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp.models import BizType
from tests.biz_type_form import form_of

pytestmark = pytest.mark.django_db


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


def test_the_address_of_the_form_fills_in_nothing(person: Client) -> None:
    address = "https://receiver.example/hook"

    answer = person.get(reverse("admin:tasksapp_biztype_add"), {"url": address, "paused_until": "2026-12-01"})

    assert answer.status_code == 200
    assert address not in answer.content.decode()


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


def test_credentials_are_typed_again_for_another_server(person: Client) -> None:
    secret = {"auth": "bearer", "auth_secret": "shop-token"}
    person.post(reverse("admin:tasksapp_biztype_add"), form_of(secret))
    change = reverse("admin:tasksapp_biztype_change", args=[BizType.objects.get().pk])

    elsewhere = {"auth": "bearer", "url": "https://evil.example/hook"}
    refused = person.post(change, form_of(elsewhere))
    assert "another host" in refused.context["adminform"].form.errors["auth_secret"][0]
    assert BizType.objects.get().url == "https://receiver.example/hook"

    person.post(change, form_of({"auth": "bearer", "url": "https://receiver.example/other"}))
    assert BizType.objects.get().auth_secret == "shop-token"
    person.post(change, form_of({**elsewhere, "auth_secret": "their-token"}))
    assert BizType.objects.get().auth_secret == "their-token"


def test_credentials_that_are_not_sent_do_not_wait_for_the_next_address(person: Client) -> None:
    person.post(reverse("admin:tasksapp_biztype_add"), form_of({"auth": "bearer", "auth_secret": "shop-token"}))
    change = reverse("admin:tasksapp_biztype_change", args=[BizType.objects.get().pk])

    person.post(change, form_of({"auth": "none", "url": "https://evil.example/hook"}))
    refused = person.post(change, form_of({"auth": "bearer", "url": "https://evil.example/hook"}))

    assert "auth_secret" in refused.context["adminform"].form.errors
    assert (BizType.objects.get().auth, BizType.objects.get().auth_secret) == ("none", "")


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

    page = client.get(reverse("admin:tasksapp_biztype_change", args=[biz_type.pk]))

    assert page.status_code == 200
    text = page.content.decode()
    assert "X-Api-Key" in text
    for secret in ("header-key", "basic-password", biz_type.signing_secret_sealed, "c2lnbmluZy1zZWNyZXQ"):
        assert secret not in text
