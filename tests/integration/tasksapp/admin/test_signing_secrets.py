"""Signing secrets that the server makes: shown once, on the page that answers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from tasksapp.biz_types import verbs
from tasksapp.models import BizType
from tests.html_form import form_fields

pytestmark = pytest.mark.django_db

ADD, LIST = "admin:tasksapp_biztype_add", "admin:tasksapp_biztype_changelist"


def secret_page(biz_type: BizType) -> str:
    return reverse("admin:tasksapp_biztype_signing_secret", args=[biz_type.pk])


def change_page(biz_type: BizType) -> str:
    return reverse("admin:tasksapp_biztype_change", args=[biz_type.pk])


def shown_secret(answer: Any) -> str:
    """The secret on a page that may be kept nowhere; not in a cookie either."""
    (secret,) = re.findall(r"whsec_[A-Za-z0-9+/=]+", answer.content.decode())
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
    assert "unsigned" not in person.get(reverse(LIST)).content.decode()


@pytest.mark.parametrize(
    "fields", [{"signing_secret": "whsec_" + "b2xkIG9s" * 4}, {"target": "celery", "task_name": "shop.close"}]
)
def test_none_is_made_where_one_was_typed_or_none_is_used(person: Client, fields: dict[str, str]) -> None:
    blank = form_fields(person.get(reverse(ADD)).content.decode(), "biztype_form")

    answer = person.post(reverse(ADD), {**blank, "code": "order.close", "url": "https://receiver.example/", **fields})

    assert answer.status_code == 302
    assert BizType.objects.get().signing_secret == fields.get("signing_secret", "")


def test_a_biz_type_that_is_not_signed_says_so_and_is_signed_by_a_button(person: Client, biz_type: BizType) -> None:
    page = person.get(change_page(biz_type)).content.decode()
    assert "Callbacks of this biz type are not signed" in page
    assert f'href="{secret_page(biz_type)}"' in page
    assert "delayhub-unsigned" in person.get(reverse(LIST)).content.decode()
    assert "are not signed" in person.get(secret_page(biz_type)).content.decode()

    answer = person.post(secret_page(biz_type))

    secret = shown_secret(answer)
    assert BizType.objects.get().signing_secret == secret
    assert "are not signed" not in person.get(change_page(biz_type)).content.decode()


def test_the_page_says_when_a_third_secret_ends_the_first(person: Client, biz_type: BizType) -> None:
    first = verbs.make_signing_secret(biz_type)
    assert "stops at once" not in person.get(secret_page(biz_type)).content.decode()
    second = shown_secret(person.post(secret_page(biz_type)))
    assert BizType.objects.get().previous_signing_secret == first

    asked = person.get(secret_page(biz_type)).content.decode()

    assert "stops at once" in asked
    assert BizType.objects.get().signing_secret == second


def test_a_viewer_makes_no_secret(client: Client, django_user_model: Any, biz_type: BizType) -> None:
    viewer = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_biztype"))
    client.force_login(viewer)

    answers = [client.get(secret_page(biz_type)), client.post(secret_page(biz_type))]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert not BizType.objects.get().signing_secret_sealed
    assert secret_page(biz_type) not in client.get(change_page(biz_type)).content.decode()


def test_there_is_no_secret_of_a_biz_type_that_does_not_exist(person: Client) -> None:
    assert person.post(reverse("admin:tasksapp_biztype_signing_secret", args=[999])).status_code == 404
