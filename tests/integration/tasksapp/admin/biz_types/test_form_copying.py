"""Copying a biz type in the admin."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from tasksapp.biz_types import verbs
from tasksapp.models import BizType
from tests.html_form import form_fields

pytestmark = pytest.mark.django_db

ADD = "admin:tasksapp_biztype_add"


@pytest.fixture
def original() -> BizType:
    biz_type = BizType(
        code="order.close", url="https://shop.example/hooks", headers={"X-Team": "orders"}, max_age=timedelta(days=2)
    )
    biz_type.auth_secret, biz_type.auth = "ada:analytical", BizType.Auth.BASIC
    biz_type.save()
    verbs.pause(biz_type)
    return biz_type


def test_a_copy_takes_all_but_the_code_the_pause_and_the_secrets(person: Client, original: BizType) -> None:
    page = person.get(reverse("admin:tasksapp_biztype_change", args=[original.pk])).content.decode()
    url = f"{reverse(ADD)}?copy_of={original.pk}"
    assert f'href="{url}"' in page
    form = person.get(url).content.decode()
    assert "A copy of order.close" in form
    assert "type the credentials again" in form
    fields = form_fields(form, "biztype_form")

    answer = person.post(url, {**fields, "code": "order.remind", "auth_secret": "eve:other"})

    assert answer.status_code in {200, 302}
    copy = BizType.objects.get(code="order.remind")
    assert (copy.url, copy.headers, copy.max_age) == (original.url, original.headers, original.max_age)
    assert (copy.auth, copy.auth_secret) == ("basic", "eve:other")
    assert copy.paused_until is None


def test_a_copy_without_the_secret_that_its_auth_needs_is_refused(person: Client, original: BizType) -> None:
    url = f"{reverse(ADD)}?copy_of={original.pk}"
    fields = form_fields(person.get(url).content.decode(), "biztype_form")

    answer = person.post(url, {**fields, "code": "order.remind"})

    assert set(answer.context["adminform"].form.errors) == {"auth_secret"}
    assert not BizType.objects.filter(code="order.remind").exists()


@pytest.mark.parametrize("asked", ["999999", "9" * 40, "x", "-1", "\u0661"])
def test_a_copy_of_none_is_an_empty_form(person: Client, asked: str) -> None:
    page = person.get(reverse(ADD), {"copy_of": asked})

    assert page.status_code == 200
    assert "A copy of" not in page.content.decode()


def test_who_may_not_change_a_biz_type_copies_nothing(
    client: Client, django_user_model: Any, original: BizType
) -> None:
    adder = django_user_model.objects.create_user("adder", password="x", is_staff=True)
    adder.user_permissions.add(Permission.objects.get(codename="add_biztype"))
    client.force_login(adder)

    page = client.get(reverse(ADD), {"copy_of": original.pk}).content.decode()

    assert "X-Team" not in page
    assert "A copy of" not in page
