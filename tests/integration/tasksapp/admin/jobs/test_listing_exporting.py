"""Exporting from the list of jobs: what its tab, search and filters show, on all pages."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tasksapp.models import AuditEntry, BizType, Status
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = [pytest.mark.django_db, pytest.mark.database]
ADDRESS = "/admin/tasksapp/job/export/"


def browser(*permissions: str) -> Client:
    user = User.objects.create_user("ada", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_job", *permissions]))
    client = Client()
    client.force_login(user)
    return client


def test_all_that_the_list_shows_is_exported_and_recorded(make_biz_type: MakeBizType) -> None:
    closing, opening = make_biz_type("order.close"), make_biz_type("order.open")
    for number in range(60):
        store_job(closing, Status.DEAD, biz_id=f"order-{number}")
    store_job(closing, biz_id="order-pending")
    store_job(opening, Status.DEAD, biz_id="order-other")
    person = browser("export_job", "view_job_body")
    page = person.get("/admin/tasksapp/job/?tab=dead&biz_type=order.close&q=order-*")

    answer = person.post(page.context["export_url"], {"format": "ndjson"})

    assert page.context["export_url"] in page.content.decode().replace("&amp;", "&")
    found = {json.loads(line)["biz_id"] for line in answer.getvalue().splitlines()}
    assert found == {f"order-{number}" for number in range(60)}
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.biz_type_id, entry.after["rows"]) == ("ada", closing.pk, 60)
    assert entry.after["filter"] == {"tab": "dead", "q": "order-*", "biz_type": "order.close"}


@pytest.mark.parametrize("permissions", [(), ("export_job",), ("view_job_body",)])
def test_it_takes_the_right_to_export_and_the_right_to_see_bodies(
    permissions: tuple[str, ...], biz_type: BizType
) -> None:
    store_job(biz_type)
    person = browser(*permissions)

    assert "export/" not in person.get("/admin/tasksapp/job/").content.decode()
    assert person.post(ADDRESS, {"format": "csv"}).status_code == 403
    assert not AuditEntry.objects.exists()


def test_who_may_not_see_jobs_exports_none(biz_type: BizType) -> None:
    store_job(biz_type)
    person = browser("export_job", "view_job_body")
    User.objects.get().user_permissions.remove(Permission.objects.get(codename="view_job"))

    assert person.post(ADDRESS, {"format": "csv"}).status_code == 403
    assert not AuditEntry.objects.exists()


def test_nothing_is_exported_by_following_a_link(biz_type: BizType) -> None:
    assert browser("export_job", "view_job_body").get(ADDRESS).status_code == 405


def test_a_format_that_there_is_not_is_refused(biz_type: BizType) -> None:
    assert browser("export_job", "view_job_body").post(ADDRESS, {"format": "xlsx"}).status_code == 400


@pytest.mark.parametrize("query", ["?q=body:x&biz_type=order.close&tab=dead", "?biz_type=none"])
def test_what_cannot_be_exported_leads_back_with_the_reason(biz_type: BizType, query: str) -> None:
    person = browser("export_job", "view_job_body")

    answer = person.post(ADDRESS + query, {"format": "csv"}, follow=True)

    assert answer.redirect_chain
    assert [str(message) for message in answer.context["messages"]]
    assert not AuditEntry.objects.exists()
