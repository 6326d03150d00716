"""What all pages of a biz type share: tabs, the way back, and the admin site that they are on."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from tasksapp.models import BizType

pytestmark = pytest.mark.django_db

PAGES = ["pause", "resume", "test", "secrets"]


@pytest.mark.parametrize("name", PAGES)
def test_each_page_has_the_tabs_and_the_way_back(person: Client, biz_type: BizType, name: str) -> None:
    text = person.get(reverse(f"admin:tasksapp_biztype_{name}", args=[biz_type.pk])).content.decode()

    change = reverse("admin:tasksapp_biztype_change", args=[biz_type.pk])
    for address in (change, f"{change}?tab=limits", reverse("admin:tasksapp_biztype_changelist")):
        assert f'href="{address}"' in text
    assert "<style" not in text.partition("delayhub-page")[2]
    assert "style=" not in text.partition("delayhub-page")[2].partition("END SVGs")[0].replace("stylesheet", "")


@pytest.mark.parametrize("name", [*PAGES, "change"])
def test_links_stay_on_the_site_of_the_page(person: Client, biz_type: BizType, settings: Any, name: str) -> None:
    settings.ROOT_URLCONF = "tests.integration.tasksapp.admin.second_site"
    page = reverse(f"admin:tasksapp_biztype_{name}", args=[biz_type.pk], current_app="second")
    assert page.startswith("/second/")

    text = person.get(page).content.decode()

    assert f'href="/second/tasksapp/biztype/{biz_type.pk}/change/' in text
    assert '"/admin/tasksapp/biztype' not in text


@pytest.mark.parametrize("name", PAGES)
def test_there_is_no_page_of_a_biz_type_that_does_not_exist(person: Client, name: str) -> None:
    assert person.get(reverse(f"admin:tasksapp_biztype_{name}", args=[9_999])).status_code == 404
    assert person.get(reverse(f"admin:tasksapp_biztype_{name}", args=[10**25])).status_code == 404


def test_what_a_person_may_do_is_asked_for_by_three_permissions(
    client: Client, django_user_model: Any, biz_type: BizType
) -> None:
    allowed = {"pause": "pause_biztype", "test": "test_biztype", "secrets": "change_biztype_secrets"}
    for name, codename in allowed.items():
        person = django_user_model.objects.create_user(name, password="x", is_staff=True)
        person.user_permissions.add(*Permission.objects.filter(codename__in=["view_biztype", codename]))
        client.force_login(person)

        answers = {
            page: client.get(reverse(f"admin:tasksapp_biztype_{page}", args=[biz_type.pk])).status_code
            for page in allowed
        }

        assert answers == {page: 200 if page == name else 403 for page in allowed}
