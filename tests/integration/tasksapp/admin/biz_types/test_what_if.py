"""Other limits, and what they would do, before they are saved."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tasksapp.models import AuditEntry, BizType, JobCount, Upcoming
from tests.html_form import form_fields

pytestmark = pytest.mark.django_db

LIMITS = {"delivery_rate": "500", "delivery_burst": "500", "max_in_flight": "", "weight": "1"}


@pytest.fixture
def waiting(biz_type: BizType) -> BizType:
    """A biz type with a backlog of 12 000 jobs, and 200 000 more in six hours; its limit is 100 a second."""
    BizType.objects.update(delivery_rate=100, delivery_burst=500)
    now = timezone.now()
    JobCount.objects.create(
        biz_type=biz_type, pending=212_000, due_now=12_000, running=0, dead=0, counted_at=now, oldest_due_at=now
    )
    ahead = now + timedelta(hours=6)
    Upcoming.objects.create(
        biz_type=biz_type, at=ahead, span_seconds=300, jobs=200_000, counted_at=now, first_at=ahead, last_at=ahead
    )
    biz_type.refresh_from_db()
    return biz_type


def page(biz_type: BizType) -> str:
    return reverse("admin:tasksapp_biztype_what_if", args=[biz_type.pk])


def test_it_shows_the_forecast_as_it_is(person: Client, waiting: BizType) -> None:
    answer = person.get(page(waiting))

    (column,) = answer.context["columns"]
    assert column["pace"] == "100 jobs per second"
    assert column["limited_by"] == "the delivery rate"
    assert re.search(r"in (2 min|1 min 5\d s) ", column["empty_at"])
    assert "Save these limits</button>" not in answer.content.decode()


def test_it_shows_both_side_by_side_and_stores_nothing(person: Client, waiting: BizType) -> None:
    answer = person.get(page(waiting), LIMITS)

    now, then = answer.context["columns"]
    assert (now["pace"], then["pace"]) == ("100 jobs per second", "500 jobs per second")
    assert re.search(r"in (24|23|2\d\.\d|2[0-2]) s ", then["empty_at"])
    assert ", 33 min 20 s late" in "".join(now["ahead"])
    assert ", 6 min 40 s late" in "".join(then["ahead"])
    assert "Save these limits</button>" in answer.content.decode()
    assert BizType.objects.get().delivery_rate == 100


def test_limits_that_cannot_be_are_marked_and_have_no_forecast(person: Client, waiting: BizType) -> None:
    for bad in ({"delivery_rate": "-1"}, {"delivery_rate": "1e308"}, {"delivery_rate": "nan"}, {"weight": "x"}):
        answer = person.get(page(waiting), {**LIMITS, **bad})

        assert answer.status_code == 200
        assert set(answer.context["form"].errors) == set(bad)
        assert len(answer.context["columns"]) == 1


def test_the_limits_are_saved_by_a_button(person: Client, waiting: BizType) -> None:
    shown = form_fields(person.get(page(waiting), LIMITS).content.decode(), "what_if_form")

    answer = person.post(page(waiting), shown)

    assert answer.status_code == 302
    assert BizType.objects.get().delivery_rate == 500
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.verb, entry.after) == ("admin", "biz_type.edit", {"delivery_rate": 500.0})


def test_limits_that_somebody_else_changed_meanwhile_are_shown_first(person: Client, waiting: BizType) -> None:
    shown = form_fields(person.get(page(waiting), LIMITS).content.decode(), "what_if_form")
    BizType.objects.update(max_in_flight=7)

    answer = person.post(page(waiting), shown)

    assert "while the form was open" in answer.content.decode()
    assert BizType.objects.get().delivery_rate == 100


def test_what_is_limited_by_a_pause_is_said(person: Client, waiting: BizType) -> None:
    BizType.objects.update(enabled=False)

    assert "wait until the biz type is enabled" in person.get(page(waiting)).content.decode()


def test_who_may_not_change_the_biz_type_looks_and_saves_nothing(
    client: Client, django_user_model: Any, waiting: BizType
) -> None:
    viewer = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_biztype"))
    client.force_login(viewer)

    looked = client.get(page(waiting), LIMITS)

    assert looked.context["columns"][1]["pace"] == "500 jobs per second"
    assert "Save these limits</button>" not in looked.content.decode()
    assert client.post(page(waiting), LIMITS).status_code == 403
    assert BizType.objects.get().delivery_rate == 100


def test_it_takes_twelve_statements_at_most(person: Client, waiting: BizType) -> None:
    person.get(page(waiting), LIMITS)

    with CaptureQueriesContext(connection) as queries:
        person.get(page(waiting), LIMITS)

    assert len(queries) - 2 <= 12, [query["sql"][:150] for query in queries]
