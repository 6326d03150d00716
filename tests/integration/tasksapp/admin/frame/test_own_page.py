"""Own pages: the frame of the site that shows them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin import site
from django.test import Client
from django.urls import reverse

from tasksapp.admin import SeriesAdmin
from tasksapp.models import Series

pytestmark = pytest.mark.django_db

PAGE = "/admin/tasksapp/deadcount/"


def test_a_page_has_its_title_its_place_the_shared_files_and_the_keys(person: Client) -> None:
    page = person.get(PAGE).content.decode()

    assert '<h1 class="delayhub-title">Issues</h1>' in page
    assert '<a href="/admin/tasksapp/">DelayHub</a>' in page
    for shared in ("tasksapp/admin.css", "tasksapp/keys.js", "tasksapp/live.js", 'id="delayhub-keys"'):
        assert shared in page


def test_a_page_stands_in_a_theme_that_has_nothing_but_four_blocks(person: Client, settings: Any) -> None:
    theme = "".join(
        "{% block " + name + " %}{% endblock %}" for name in ("extrastyle", "extrahead", "breadcrumbs", "content")
    )
    loaders = [
        ("django.template.loaders.locmem.Loader", {"admin/base_site.html": theme}),
        "django.template.loaders.app_directories.Loader",
    ]
    (engine,) = settings.TEMPLATES
    settings.TEMPLATES = [
        {**engine, "DIRS": [], "APP_DIRS": False, "OPTIONS": {**engine["OPTIONS"], "loaders": loaders}},
    ]

    page = person.get(PAGE).content.decode()

    assert "Nothing is dead." in page
    assert "tasksapp/admin.css" in page


@pytest.mark.urls("tests.integration.tasksapp.admin.unfold_site")
def test_our_pages_stand_under_unfold(person: Client, settings: Any) -> None:
    # unfold's default configuration puts another site into django.contrib.admin, and leaves it to the tests after this
    settings.INSTALLED_APPS = ["unfold.apps.BasicAppConfig", *settings.INSTALLED_APPS]
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": []}]

    issues, overview = (person.get(page).content.decode() for page in (PAGE, "/admin/tasksapp/"))

    assert "unfold/css/styles.css" in issues
    assert "Nothing is dead." in issues
    assert "What comes" in overview
    assert "tasksapp/live.js" in overview


@pytest.mark.parametrize("page", ["edit", "pause", "resume", "trigger", "backfill"])
def test_a_page_of_a_row_has_the_name_of_its_method_and_is_for_people_who_have_signed_in(page: str) -> None:
    address = reverse(f"admin:tasksapp_series_{page}", args=[1])

    answer = Client().get(address)

    assert address == f"/admin/tasksapp/series/1/{page}/"
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/admin/login/")


def test_a_projects_own_admin_keeps_the_address_of_a_view_that_it_replaces() -> None:
    class Own(SeriesAdmin):
        def edit_view(self, request: Any, series_id: int) -> Any:
            raise NotImplementedError

    own, ours = ({each.name for each in kind(Series, site).get_urls()} for kind in (Own, SeriesAdmin))

    assert own == ours
    assert "tasksapp_series_edit" in own
