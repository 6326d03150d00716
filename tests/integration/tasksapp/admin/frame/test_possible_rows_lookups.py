"""The address of a list in the admin filters by what the page offers, and by nothing else."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tasksapp.admin.jobs.tabs import TABS
from tasksapp.models import BizType, Status
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("model", "lookup"),
    [
        ("job", "body__regex=(a%2B)%2B$"),
        ("job", "biz_type__signing_secret_sealed__startswith=g"),
        ("biztype", "signing_secret_sealed__startswith=g"),
        ("biztype", "auth_secret_sealed__contains=g"),
        ("apikey", "hashed_key__regex=%5Ea"),
        ("job", "status__exact=pending"),
        # what PostgreSQL cannot be asked
        ("job", "status=a%00b"),
        ("biztype", "lane=%00"),
        ("auditentry", "at__gte=2026-01-01+00:00:00%2B23:00"),
        # before the first year in UTC, and after the last
        ("job", "due_from=0001-01-01T00:00:00%2B14:00"),
        ("auditentry", "at__gte=0001-01-01+00:00:00%2B14:00"),
        ("job", "due_until=9999-12-31T23:59:59-14:00"),
        ("auditentry", "at__lt=9999-12-31+23:59:59-14:00"),
        # the same for a value without a time zone, in the site's
        ("job", "due_from=0001-01-01T00:00"),
        ("auditentry", "at__gte=0001-01-01"),
    ],
)
def test_other_columns_lookups_and_values_are_refused(person: Client, settings: Any, model: str, lookup: str) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"

    answer = person.get(f"{reverse(f'admin:tasksapp_{model}_changelist')}?{lookup}")

    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("model", "lookup"),
    [
        ("job", "status=pending&biz_type={code}"),
        ("job", "due_from=2026-01-01T00%3A00%3A00%2B00%3A00&due_until=2026-01-02T00%3A00%3A00%2B00%3A00"),
        # PostgreSQL is asked for it in UTC: it takes no such offset
        ("job", "due_from=2026-01-01T00:00:00%2B23:00"),
        ("biztype", "enabled__exact=1&target__exact=http&lane=delayhub.timers"),
        ("apikey", "enabled__exact=1"),
    ],
)
def test_what_the_page_offers_is_taken(person: Client, biz_type: BizType, model: str, lookup: str) -> None:
    answer = person.get(f"{reverse(f'admin:tasksapp_{model}_changelist')}?{lookup.format(code=biz_type.code)}")

    assert answer.status_code == 200


@pytest.mark.parametrize("model", ["biztype", "apikey"])
def test_every_link_of_the_filters_works(person: Client, biz_type: BizType, model: str) -> None:
    filters = person.get(reverse(f"admin:tasksapp_{model}_changelist")).context["cl"]

    links = [choice["query_string"] for spec in filters.filter_specs for choice in spec.choices(filters)]

    assert links
    for link in links:
        assert person.get(f"{reverse(f'admin:tasksapp_{model}_changelist')}{link}").status_code == 200, link


@pytest.mark.parametrize("tab", TABS)
def test_every_link_of_the_list_of_jobs_works(person: Client, biz_type: BizType, tab: str) -> None:
    for status in Status:
        store_job(biz_type, status, error_class="http.503")
    jobs = reverse("admin:tasksapp_job_changelist")
    page = person.get(jobs, {"tab": tab, "due_from": "2026-01-01T00:00"}).content.decode()

    links = [unescape(link) for link in re.findall(r'href="(\?[^"]*)"', page)]

    assert len(links) > len(TABS)
    for link in links:
        assert person.get(f"{jobs}{link}").status_code == 200, link


@pytest.mark.parametrize(
    ("zone", "time"), [("Asia/Tokyo", "0001-01-01T00:00:00"), ("America/New_York", "9999-12-31T23:59:59")]
)
def test_a_time_that_utc_does_not_have_is_refused(person: Client, settings: Any, zone: str, time: str) -> None:
    settings.TIME_ZONE = zone

    answer = person.get(f"{reverse('admin:tasksapp_job_changelist')}?due_from={time}")

    assert answer.status_code == 400
