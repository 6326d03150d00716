"""Pausing and resuming in the admin: with a reason, an end, and the permission to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp.biz_types import verbs
from tasksapp.biz_types.gates import gate_of
from tasksapp.models import UNTIL_RESUMED, AuditEntry, BizType
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db

LIST, SEVERAL = "admin:tasksapp_biztype_changelist", "admin:tasksapp_biztype_pause_several"


def page(name: str, biz_type: BizType) -> str:
    return reverse(f"admin:tasksapp_biztype_{name}", args=[biz_type.pk])


def test_a_pause_has_a_reason_an_end_and_a_name(person: Client, biz_type: BizType) -> None:
    answer = person.post(page("pause", biz_type), {"reason": "db move", "length": "3600"}, follow=True)

    stored = BizType.objects.get()
    assert (stored.paused_by, stored.pause_reason) == ("admin", "db move")
    assert stored.paused_until is not None
    assert timedelta(minutes=59) < stored.paused_until - timezone.now() <= timedelta(hours=1)
    text = answer.content.decode()
    assert "paused by admin until" in text
    assert "db move" in text
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.verb, entry.reason) == ("admin", "biz_type.pause", "db move")


def test_a_pause_may_last_until_somebody_resumes_it(person: Client, biz_type: BizType) -> None:
    person.post(page("pause", biz_type), {"reason": "db move", "length": "resumed"})

    assert BizType.objects.get().paused_until == UNTIL_RESUMED


def test_a_pause_may_end_at_a_time_of_the_persons_own(person: Client, biz_type: BizType) -> None:
    until = (timezone.localtime() + timedelta(days=2)).replace(second=0, microsecond=0)

    person.post(page("pause", biz_type), {"reason": "x", "length": "at", "until": f"{until:%Y-%m-%dT%H:%M}"})

    assert BizType.objects.get().paused_until == until


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"reason": "", "length": "resumed"}, "reason"),
        ({"reason": "  ", "length": "resumed"}, "reason"),
        ({"reason": "x" * 501, "length": "resumed"}, "reason"),
        ({"reason": "x\0", "length": "resumed"}, "reason"),
        ({"reason": "x", "length": "at"}, "until"),
        ({"reason": "x", "length": "at", "until": "2020-01-01T00:00"}, "until"),
        ({"reason": "x", "length": "at", "until": "soon"}, "until"),
        ({"reason": "x", "length": "12"}, "length"),
        ({"reason": "x"}, "length"),
    ],
)
def test_a_bad_pause_is_refused_at_its_field(
    person: Client, biz_type: BizType, typed: dict[str, str], field: str
) -> None:
    answer = person.post(page("pause", biz_type), typed)

    assert answer.status_code == 200
    assert field in answer.context["form"].errors
    assert not BizType.objects.get().is_paused


def test_a_look_at_the_page_pauses_nothing(person: Client, biz_type: BizType) -> None:
    assert person.get(page("pause", biz_type), {"reason": "x", "length": "resumed"}).status_code == 200

    assert not BizType.objects.get().is_paused


def test_who_paused_before_and_why_is_said(person: Client, biz_type: BizType) -> None:
    person.post(page("pause", biz_type), {"reason": "db move", "length": "resumed"})

    text = person.get(page("pause", biz_type)).content.decode()

    assert "already paused by admin" in text
    assert "db move" in text


def test_a_resumed_biz_type_begins_slowly(person: Client, biz_type: BizType) -> None:
    verbs.pause(biz_type)
    assert "Jobs that wait go out again" in person.get(page("resume", biz_type)).content.decode()

    answer = person.post(page("resume", biz_type), follow=True)

    stored = BizType.objects.get()
    assert stored.paused_until is None
    assert (gate_of(stored, now=timezone.now()).rate_per_second or 0) <= 100
    assert "is resumed" in answer.content.decode()
    assert "None of them was paused" in person.post(page("resume", biz_type), follow=True).content.decode()


def test_several_are_paused_for_one_reason_on_one_page(person: Client, make_biz_type: MakeBizType) -> None:
    chosen = [make_biz_type(code).pk for code in ("a", "b")]
    other = make_biz_type("c").pk

    asked = person.post(reverse(LIST), {"action": "pause", "_selected_action": chosen}, follow=True)
    assert [biz_type.code for biz_type in asked.context["paused"]] == ["a", "b"]
    assert not BizType.objects.filter(paused_until__isnull=False).exists()
    person.post(reverse(SEVERAL), {"ids": chosen, "reason": "db move", "length": "resumed"})

    paused = BizType.objects.filter(paused_until=UNTIL_RESUMED, paused_by="admin", pause_reason="db move")
    assert set(paused.values_list("pk", flat=True)) == set(chosen)
    assert not BizType.objects.get(pk=other).is_paused

    person.post(reverse(LIST), {"action": "resume", "_selected_action": chosen})
    assert not BizType.objects.filter(paused_until__isnull=False).exists()


@pytest.mark.parametrize("query", ["", "?ids=", "?ids=x", "?ids=-1", "?ids=99999999999999999999999", "?ids=%00"])
def test_an_address_that_names_no_biz_type_leads_to_the_list(person: Client, query: str) -> None:
    answer = person.get(reverse(SEVERAL) + query)

    assert (answer.status_code, answer.headers["Location"]) == (302, reverse(LIST))


def test_who_may_not_pause_has_no_button_and_no_page(client: Client, django_user_model: Any, biz_type: BizType) -> None:
    editor = django_user_model.objects.create_user("editor", password="x", is_staff=True)
    editor.user_permissions.add(*Permission.objects.filter(codename__in=["view_biztype", "change_biztype"]))
    client.force_login(editor)
    typed = {"reason": "x", "length": "resumed"}

    answers = [
        client.get(page("pause", biz_type)),
        client.post(page("pause", biz_type), typed),
        client.post(page("resume", biz_type)),
        client.get(reverse(SEVERAL), {"ids": biz_type.pk}),
        client.post(reverse(SEVERAL), {**typed, "ids": biz_type.pk}),
    ]

    assert [answer.status_code for answer in answers] == [403] * 5
    client.post(reverse(LIST), {"action": "resume", "_selected_action": [biz_type.pk]})
    assert not BizType.objects.get().is_paused
    assert page("pause", biz_type) not in client.get(page("change", biz_type)).content.decode()
    assert 'value="pause"' not in client.get(reverse(LIST)).content.decode()


def test_an_operator_pauses_without_the_permission_to_change(
    client: Client, django_user_model: Any, biz_type: BizType
) -> None:
    operator = django_user_model.objects.create_user("olga", password="x", is_staff=True)
    operator.user_permissions.add(*Permission.objects.filter(codename__in=["view_biztype", "pause_biztype"]))
    client.force_login(operator)

    client.post(page("pause", biz_type), {"reason": "x", "length": "900"})

    assert BizType.objects.get().paused_by == "olga"
    assert page("resume", biz_type) in client.get(page("change", biz_type)).content.decode()


def test_the_end_is_read_in_the_zone_of_the_admin(person: Client, biz_type: BizType, settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"

    person.post(page("pause", biz_type), {"reason": "x", "length": "at", "until": "2999-01-01T08:00"})

    until = BizType.objects.get().paused_until
    assert until is not None
    assert until.isoformat() == "2999-01-01T00:00:00+00:00"
