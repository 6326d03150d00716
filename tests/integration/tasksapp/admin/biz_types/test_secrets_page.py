"""The secrets of a biz type in the admin: made, set, ended and removed; never shown but once."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp.biz_types import verbs
from tasksapp.models import AuditEntry, BizType
from tests.certificates import made
from tests.html_form import form_fields

pytestmark = pytest.mark.django_db

ADD, LIST = "admin:tasksapp_biztype_add", "admin:tasksapp_biztype_changelist"
SECRET = "whsec_" + "b2xkIG9s" * 4
DAY = timedelta(days=1)


def secrets_page(biz_type: BizType) -> str:
    return reverse("admin:tasksapp_biztype_secrets", args=[biz_type.pk])


def change_page(biz_type: BizType) -> str:
    return reverse("admin:tasksapp_biztype_change", args=[biz_type.pk])


def shown_secret(answer: Any) -> str:
    """The secret on a page that may be kept nowhere; not in a cookie either."""
    (secret,) = re.findall(r"whsec_[A-Za-z0-9+/=]{20,}", answer.content.decode())
    assert "no-store" in answer.headers["Cache-Control"]
    assert not any(secret in cookie.value for cookie in answer.client.cookies.values())
    return str(secret)


def test_a_new_biz_type_gets_a_secret_that_is_shown_once(person: Client) -> None:
    fields = form_fields(person.get(reverse(ADD)).content.decode(), "biztype_form")

    answer = person.post(
        reverse(ADD), {**fields, "code": "order.close", "url": "https://receiver.example/hook", "_continue": "Save"}
    )

    biz_type = BizType.objects.get()
    secret = shown_secret(answer)
    assert biz_type.signing_secret == secret
    assert f'href="{change_page(biz_type)}"' in answer.content.decode()
    assert secret not in person.get(change_page(biz_type)).content.decode()
    assert secret not in person.get(secrets_page(biz_type)).content.decode()
    assert "unsigned" not in person.get(reverse(LIST)).content.decode()


def test_none_is_made_for_a_task(person: Client, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "ALLOWED_TASKS": ["shop.close"]}
    blank = form_fields(person.get(reverse(ADD)).content.decode(), "biztype_form")

    answer = person.post(reverse(ADD), {**blank, "code": "a", "target": "celery", "task_name": "shop.close"})

    assert answer.status_code == 302
    assert BizType.objects.get().signing_secret == ""


def test_a_biz_type_that_is_not_signed_says_so_and_is_signed_by_a_button(person: Client, biz_type: BizType) -> None:
    page = person.get(change_page(biz_type)).content.decode()
    assert "Callbacks of this biz type are not signed" in page
    assert f'href="{secrets_page(biz_type)}"' in page
    assert "delayhub-unsigned" in person.get(reverse(LIST)).content.decode()

    secret = shown_secret(person.post(secrets_page(biz_type), {"deed": "sign"}))

    assert BizType.objects.get().signing_secret == secret
    assert "are not signed" not in person.get(change_page(biz_type)).content.decode()
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.verb) == ("admin", "biz_type.new_signing_secret")


def test_the_old_secret_signs_as_long_as_the_person_chose(person: Client, biz_type: BizType) -> None:
    first = verbs.make_signing_secret(biz_type)

    answer = person.post(secrets_page(biz_type), {"deed": "sign", "overlap": "3600"})

    stored = BizType.objects.get()
    assert (stored.signing_secret, stored.previous_signing_secret) == (shown_secret(answer), first)
    ends = stored.previous_secret_until
    assert ends is not None
    assert timezone.now() + timedelta(minutes=59) < ends <= timezone.now() + timedelta(hours=1)
    until = f"The old one signs until {timezone.localtime(ends):%Y-%m-%d %H:%M %Z}"
    assert until in person.get(secrets_page(biz_type)).content.decode()

    person.post(secrets_page(biz_type), {"deed": "end_previous"})

    stored = BizType.objects.get()
    assert (stored.previous_signing_secret, stored.previous_secret_until) == ("", None)
    assert "The old one signs until" not in person.get(secrets_page(biz_type)).content.decode()


def test_the_old_secret_may_end_at_once(person: Client, biz_type: BizType) -> None:
    verbs.make_signing_secret(biz_type)

    person.post(secrets_page(biz_type), {"deed": "sign", "overlap": "0"})

    assert BizType.objects.get().previous_signing_secret == ""


@pytest.mark.parametrize("overlap", ["", "-1", "99999999999", "soon"])
def test_no_other_overlap_is_taken(person: Client, biz_type: BizType, overlap: str) -> None:
    first = verbs.make_signing_secret(biz_type)

    answer = person.post(secrets_page(biz_type), {"deed": "sign", "overlap": overlap})

    assert answer.status_code == 200
    assert BizType.objects.get().signing_secret == first


def test_a_person_may_bring_a_secret_of_their_own(person: Client, biz_type: BizType) -> None:
    refused = person.post(secrets_page(biz_type), {"deed": "sign", "secret": "short"})
    assert "base64 of 24 to 64 bytes" in refused.content.decode()
    assert BizType.objects.get().is_unsigned

    taken = person.post(secrets_page(biz_type), {"deed": "sign", "secret": SECRET}, follow=True)

    assert BizType.objects.get().signing_secret == SECRET
    assert SECRET not in taken.content.decode()


def test_a_removed_secret_leaves_callbacks_unsigned(person: Client, biz_type: BizType) -> None:
    verbs.make_signing_secret(biz_type)

    answer = person.post(secrets_page(biz_type), {"deed": "unsign"}, follow=True)

    assert "not signed any more" in answer.content.decode()
    assert BizType.objects.get().is_unsigned


def test_credentials_are_set_replaced_and_cleared_and_never_shown(person: Client, biz_type: BizType) -> None:
    page = secrets_page(biz_type)
    for auth, secret in (("bearer", "shop-token"), ("basic", "ada:analytical")):
        answer = person.post(page, {"deed": "authorize", "auth": auth, "auth_secret": secret}, follow=True)
        assert (BizType.objects.get().auth, BizType.objects.get().auth_secret) == (auth, secret)
        assert secret not in answer.content.decode()

    person.post(page, {"deed": "unauthorize"})

    stored = BizType.objects.get()
    assert (stored.auth, stored.auth_secret_sealed) == ("none", "")
    assert "analytical" not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize(
    "typed",
    [{"auth": "basic", "auth_secret": "token"}, {"auth": "bearer", "auth_secret": "tök\r\nen"}, {"auth": "basic"}],
)
def test_credentials_that_cannot_be_sent_are_refused(person: Client, biz_type: BizType, typed: dict[str, str]) -> None:
    answer = person.post(secrets_page(biz_type), {"deed": "authorize", **typed})

    assert answer.context["credentials"].errors["auth_secret"]
    assert BizType.objects.get().auth == "none"


def test_who_may_not_change_secrets_sees_no_page_and_makes_none(
    client: Client, django_user_model: Any, biz_type: BizType
) -> None:
    editor = django_user_model.objects.create_user("editor", password="x", is_staff=True)
    editor.user_permissions.add(*Permission.objects.filter(codename__in=["view_biztype", "change_biztype"]))
    client.force_login(editor)

    answers = [client.get(secrets_page(biz_type)), client.post(secrets_page(biz_type), {"deed": "sign"})]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert not BizType.objects.get().signing_secret_sealed
    assert secrets_page(biz_type) not in client.get(change_page(biz_type)).content.decode()


def test_there_is_no_secret_of_a_biz_type_that_does_not_exist(person: Client) -> None:
    page = reverse("admin:tasksapp_biztype_secrets", args=[999])

    assert person.post(page, {"deed": "sign"}).status_code == 404


def test_a_button_that_there_is_not_changes_nothing(person: Client, biz_type: BizType) -> None:
    assert person.post(secrets_page(biz_type), {"deed": "publish"}).status_code == 200

    assert BizType.objects.get().updated_at == biz_type.updated_at


def test_a_biz_type_signs_by_a_key_whose_public_half_the_page_shows(person: Client, biz_type: BizType) -> None:
    person.post(secrets_page(biz_type), {"deed": "sign_by_key"})
    first = BizType.objects.get().public_key
    person.post(secrets_page(biz_type), {"deed": "sign_by_key", "key_overlap": "3600"})

    stored = BizType.objects.get()
    page = person.get(secrets_page(biz_type)).content.decode()
    assert stored.public_key in page
    assert first in page
    assert "The old key signs until" in page
    assert f"http://testserver/api/public-keys/{biz_type.pk}" in page
    assert "whsk_" not in page

    person.post(secrets_page(biz_type), {"deed": "end_previous_key"})
    assert first not in person.get(secrets_page(biz_type)).content.decode()
    person.post(secrets_page(biz_type), {"deed": "stop_keys"})
    assert BizType.objects.get().public_key == ""
    refused = person.post(secrets_page(biz_type), {"deed": "stop_keys"}, follow=True)
    assert "nothing has changed" in refused.content.decode()


def test_no_other_overlap_of_keys_is_taken(person: Client, biz_type: BizType) -> None:
    first = verbs.make_key_pair(biz_type)

    assert person.post(secrets_page(biz_type), {"deed": "sign_by_key", "key_overlap": "soon"}).status_code == 200
    assert BizType.objects.get().public_key == first


def test_what_access_tokens_are_asked_for_with_is_typed_beside_the_secret(person: Client, biz_type: BizType) -> None:
    typed = {"deed": "authorize", "auth": "oauth2", "auth_secret": "hush-hush", "client_id": "us"}
    page = secrets_page(biz_type)

    refused = person.post(page, {**typed, "token_url": "http://169.254.169.254/"})
    assert set(refused.context["credentials"].errors) == {"token_url"}
    assert "hush-hush" not in refused.content.decode()
    asked = {"token_url": "https://login.example/token", "token_fields": '{"scope": "orders"}'}
    answer = person.post(page, {**typed, **asked}, follow=True)

    stored = BizType.objects.get()
    assert (stored.auth, stored.auth_secret, stored.client_id) == ("oauth2", "hush-hush", "us")
    assert (stored.token_url, stored.token_fields) == ("https://login.example/token", {"scope": "orders"})
    assert "hush-hush" not in answer.content.decode()
    assert "login.example" in person.get(change_page(biz_type)).content.decode()


def test_a_client_certificate_is_set_and_deleted_and_its_key_is_never_shown(person: Client, biz_type: BizType) -> None:
    client, page = made("delayhub", by=made("authority")), secrets_page(biz_type)
    typed = {"deed": "certify", "certificate": client.pem, "private_key": client.key_pem}
    key_text = client.key_pem.splitlines()[1]

    refused = person.post(page, {**typed, "private_key": client.encrypted_key_pem})
    assert set(refused.context["certificate"].errors) == {"private_key"}
    assert client.encrypted_key_pem.splitlines()[1] not in refused.content.decode()
    answer = person.post(page, typed, follow=True)
    assert "CN=delayhub" in answer.content.decode()
    assert key_text not in answer.content.decode()
    assert key_text in BizType.objects.get().client_certificate
    assert "CN=delayhub, until" in person.get(change_page(biz_type)).content.decode()
    person.post(page, {"deed": "uncertify"})
    assert not BizType.objects.get().client_certificate_sealed


def test_what_was_typed_for_one_host_is_not_stored_for_another(person: Client, biz_type: BizType) -> None:
    page, client = secrets_page(biz_type), made("delayhub")
    opened = {"opened_for": form_fields(person.get(page).content.decode(), "certificate_form")["opened_for"]}
    certificate = {"deed": "certify", "certificate": client.pem, "private_key": client.key_pem}
    credentials = {"deed": "authorize", "auth": "bearer", "auth_secret": "hush-hush"}
    BizType.objects.update(url="https://other.example/hooks")

    answers = [person.post(page, {**typed, **opened}, follow=True) for typed in (certificate, credentials)]

    assert ["it is https://other.example/hooks now" in answer.content.decode() for answer in answers] == [True] * 2
    stored = BizType.objects.get()
    assert (stored.client_certificate_sealed, stored.auth_secret_sealed) == ("", "")
    BizType.objects.update(url=f"{opened['opened_for']}/another/path")
    person.post(page, {**certificate, **opened})
    assert BizType.objects.get().client_certificate
