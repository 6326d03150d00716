"""The admin as a whole: every page opens, and the first one counts jobs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tasksapp.access.keys import issue_key
from tasksapp.models import ApiKey, BizType, Job, Status
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["biztype", "job", "apikey"])
def test_every_page_opens(person: Client, biz_type: BizType, name: str) -> None:
    store_job(biz_type)
    issue_key("caller")
    model = {"biztype": BizType, "job": Job, "apikey": ApiKey}[name]

    assert person.get(reverse(f"admin:tasksapp_{name}_changelist")).status_code == 200
    (row,) = model.objects.all()  # type: ignore[attr-defined]  # the three have nothing in common
    assert person.get(reverse(f"admin:tasksapp_{name}_change", args=[row.pk])).status_code == 200


@pytest.mark.urls("tests.integration.tasksapp.admin.second_site")
def test_on_a_second_admin_site_all_links_and_buttons_stay_on_it(person: Client, biz_type: BizType) -> None:
    pending, dead = store_job(biz_type), store_job(biz_type, Status.DEAD)
    pages = [
        person.get(url).content.decode()
        for url in (
            "/second/",
            "/second/tasksapp/",
            "/second/tasksapp/deadcount/",
            "/second/tasksapp/deadcount/overview/",
            "/second/tasksapp/biztype/",
            f"/second/tasksapp/biztype/{biz_type.pk}/change/",
            f"/second/tasksapp/biztype/{biz_type.pk}/delete/",
            f"/second/tasksapp/biztype/{biz_type.pk}/signing_secret/",
            "/second/tasksapp/job/",
            f"/second/tasksapp/job/{dead.pk}/change/",
            f"/second/tasksapp/job/{pending.pk}/change/",
            f"/second/tasksapp/job/reschedule/?id={pending.pk}",
        )
    ]
    answer = person.post(f"/second/tasksapp/job/{dead.pk}/redrive/")

    for page in pages:
        assert not re.findall(r'(?:href|action)="/admin/[^"]*"', page)
    assert f'action="/second/tasksapp/job/{dead.pk}/redrive/"' in "".join(pages)
    assert answer.headers["Location"] == f"/second/tasksapp/job/{dead.pk}/change/"


def test_buttons_are_there_in_a_theme_that_has_nothing_but_the_content_block(
    person: Client, biz_type: BizType, settings: Any
) -> None:
    dead = store_job(biz_type, Status.DEAD)
    themes = {
        "admin/base_site.html": "the theme's own frame{% block content %}{% endblock %}",
        "admin/change_form.html": "{% block content %}the theme's own form{% endblock %}",
    }
    loaders = [
        ("django.template.loaders.locmem.Loader", themes),
        "django.template.loaders.app_directories.Loader",
    ]
    (engine,) = settings.TEMPLATES
    settings.TEMPLATES = [
        {**engine, "APP_DIRS": False, "OPTIONS": {**engine["OPTIONS"], "loaders": loaders}},
    ]

    job_page = person.get(reverse("admin:tasksapp_job_change", args=[dead.pk])).content.decode()
    change = reverse("admin:tasksapp_biztype_change", args=[biz_type.pk])
    biz_type_page = person.get(change, {"tab": "target"}).content.decode()

    assert "the theme's own frame" in job_page
    assert ">Redrive</button>" in job_page
    assert "the theme's own form" in biz_type_page
    assert ">Secrets</a>" in biz_type_page
