"""The pages of the ready-made project: its admin, and what people see when something is missing or has failed."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Permission
from django.db import OperationalError
from django.http import Http404
from django.template.loader import get_template
from django.test import Client
from django.urls import path, reverse

from delayhub.project import urls as project_urls
from tasksapp.models import BizType

pytestmark = pytest.mark.django_db
SECRET = "a sentence that must not leave this process"


def fail(request: Any) -> None:
    raise RuntimeError(SECRET)


def fail_to_find(request: Any) -> None:
    raise Http404(SECRET)


def lose_the_database(request: Any) -> None:
    raise OperationalError("connection failed") from psycopg.OperationalError(SECRET)


class Urls:
    """The project's addresses, and some that fail."""

    urlpatterns = [
        path("fail", fail),
        path("missing", fail_to_find),
        path("away", lose_the_database),
        *project_urls.urlpatterns,
    ]
    handler404 = project_urls.handler404
    handler500 = project_urls.handler500


def test_every_template_of_the_project_is_taken_from_its_own_folder(settings: Any) -> None:
    (folder,) = settings.TEMPLATES[0]["DIRS"]

    for found in folder.rglob("*.html"):
        name = str(found.relative_to(folder))
        assert get_template(name).origin.name == str(found), name


def test_the_admin_shows_the_name_the_mark_and_links_to_people_who_are_logged_in(admin_client: Client) -> None:
    page = admin_client.get(reverse("admin:index")).content.decode()

    assert "DelayHub" in page
    assert "<svg" in page.partition('id="site-name"')[2].partition("</div>")[0]
    assert f'href="{reverse("delayhub:docs")}"' in page
    assert f'href="{reverse("readyz")}"' in page
    assert "View site" not in page


def test_a_person_who_is_not_logged_in_sees_the_name_and_no_links(client: Client) -> None:
    page = client.get(reverse("admin:login")).content.decode()

    assert "DelayHub" in page
    assert reverse("delayhub:docs") not in page
    assert reverse("readyz") not in page


@pytest.mark.parametrize("address", ["/admin/", "/admin/tasksapp/"])
def test_the_first_page_is_the_overview_without_a_list_of_models(admin_client: Client, address: str) -> None:
    BizType.objects.create(code="order.close", url="https://receiver.example/hook")

    page = admin_client.get(address).content.decode()

    assert page.count("What comes</h2>") == 1
    assert "order.close" in page
    assert 'id="content-main"' not in page


def test_the_menu_stands_once_on_a_page_and_users_are_a_link_away(admin_client: Client) -> None:
    page = admin_client.get(reverse("admin:tasksapp_job_changelist")).content.decode()

    assert 'id="nav-sidebar"' not in page
    assert page.count(f'href="{reverse("admin:tasksapp_series_changelist")}"') == 1
    assert f'href="{reverse("admin:app_list", args=["auth"])}"' in page


def test_a_person_who_may_not_see_jobs_still_has_the_list_of_what_they_may_see(
    client: Client, django_user_model: Any
) -> None:
    keeper = django_user_model.objects.create_user("keeper", password="x", is_staff=True)
    keeper.user_permissions.add(Permission.objects.get(codename="view_apikey"))
    client.force_login(keeper)

    page = client.get(reverse("admin:index")).content.decode()

    assert 'id="content-main"' in page
    assert page.count(reverse("admin:tasksapp_apikey_changelist")) >= 2
    assert reverse("admin:app_list", args=["auth"]) not in page


def test_another_project_has_the_overview_at_the_apps_own_address_and_keeps_its_first_page(
    admin_client: Client, settings: Any
) -> None:
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": []}]

    first = admin_client.get(reverse("admin:index")).content.decode()
    own = admin_client.get(reverse("admin:app_list", args=["tasksapp"])).content.decode()

    assert "What comes" not in first
    assert "What comes" in own
    assert 'class="app-tasksapp' in own
    assert 'id="content-main"' in own


def test_people_who_may_not_see_jobs_see_no_counts_and_no_mark(client: Client, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.create_user("viewer", password="x", is_staff=True))

    page = client.get(reverse("admin:index")).content.decode()

    assert "What comes" not in page
    assert "delayhub-mark" not in page


def test_the_frame_says_on_each_page_whether_jobs_are_delivered(admin_client: Client, settings: Any) -> None:
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}

    for page in (reverse("admin:index"), reverse("admin:auth_user_changelist")):
        assert "Not delivering</a>" in admin_client.get(page).content.decode()


@pytest.mark.parametrize(
    ("address", "status", "heading"),
    [
        ("/no/such/page", 404, "There is no page at this address"),
        ("/missing", 404, "There is no page at this address"),
        ("/fail", 500, "Something failed on our side"),
        ("/away", 503, "The database does not answer"),
    ],
)
def test_a_failure_is_a_plain_page_without_the_database_or_secrets(
    client: Client, settings: Any, django_assert_num_queries: Any, address: str, status: int, heading: str
) -> None:
    settings.ROOT_URLCONF = Urls
    client.raise_request_exception = False

    with django_assert_num_queries(0):
        answer = client.get(address)

    page = answer.content.decode()
    assert answer.status_code == status
    assert heading in page
    assert "/static/tasksapp/plain.css" in page
    assert "<style" not in page
    assert SECRET not in page


def test_while_the_database_is_away_people_learn_what_to_do_in_their_language(client: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = Urls
    client.raise_request_exception = False

    answer = client.post("/away", headers={"Accept-Language": "zh-hans"})

    assert answer["Retry-After"] == "5"
    page = answer.content.decode()
    assert '<html lang="zh-hans">' in page
    assert "数据库没有响应" in page
    assert "可能已保存" in page
    assert reverse("readyz") in page
