"""The dashboard on the admin's first page: what each biz type has, and where a click leads."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from tasksapp.admin.dashboard import dashboard
from tasksapp.models import UNTIL_RESUMED, BizType, Status
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


def text_of(html: str) -> str:
    """What a person reads of a piece of HTML."""
    return re.sub(r"<[^>]+>", "", html).strip()


def test_each_biz_type_has_a_row_with_its_numbers(biz_type: BizType) -> None:
    store_job(biz_type)
    store_job(biz_type, due_in=-timedelta(minutes=5))
    store_job(biz_type, Status.RUNNING, due_in=-timedelta(minutes=5))
    store_job(biz_type, Status.DEAD, due_in=-timedelta(minutes=5))

    (row,) = dashboard(site="admin")["rows"]

    assert (row.code, row.overdue) == ("order.close", "1")
    assert [text_of(cell) for cell in (row.pending, row.running, row.dead)] == ["2", "1", "1"]
    assert "5\xa0minutes ago" in row.next_due


def test_a_number_leads_to_its_jobs_and_a_code_to_its_biz_type(biz_type: BizType, person: Client) -> None:
    store_job(biz_type, Status.DEAD)
    (row,) = dashboard(site="admin")["rows"]

    (link,) = re.findall(r'href="([^"]+)"', row.dead)

    assert person.get(link.replace("&amp;", "&")).context["cl"].result_count == 1
    assert row.url == reverse("admin:tasksapp_biztype_change", args=[biz_type.pk])


def test_a_biz_type_is_open_paused_or_disabled(make_biz_type: MakeBizType) -> None:
    make_biz_type("a.open")
    make_biz_type("b.paused", paused_until=UNTIL_RESUMED)
    make_biz_type("c.disabled", enabled=False, paused_until=UNTIL_RESUMED)

    assert [text_of(row.state) for row in dashboard(site="admin")["rows"]] == ["open", "paused", "disabled"]


def test_the_first_page_shows_it(biz_type: BizType, person: Client) -> None:
    page = person.get(reverse("admin:index")).content.decode()

    assert "order.close" in page
    assert "delayhub-dashboard" in page
