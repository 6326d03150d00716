"""People who may pause biz types silence alerts and take them, with the reason in the audit; others only look."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from tasksapp.admin.alerts import silencing
from tasksapp.models import Alert, AlertKind, AlertSilence, AuditEntry, BizType
from tests.page_words import words_of

pytestmark = pytest.mark.django_db

PAGE = "/admin/tasksapp/alert/"


def open_alert() -> Alert:
    now = timezone.now()
    return Alert.objects.create(kind=AlertKind.REDIS_AWAY, began_at=now, told_at=now, sentence="away")


def test_a_silence_is_asked_for_shown_and_ended(person: Client, biz_type: BizType) -> None:
    given = {"about": str(biz_type.pk), "kind": "dead", "length": "3600", "reason": "the shop moves"}
    assert "the site and all biz types" in words_of(person.get(f"{PAGE}silence/").content)

    said = person.post(f"{PAGE}silence/", given, follow=True)

    row = AlertSilence.objects.get()
    assert (row.biz_type_id, row.kind, row.reason) == (biz_type.pk, "dead", "the shop moves")
    assert timedelta(minutes=59) < row.until - timezone.now() <= timedelta(hours=1)
    page = words_of(said.content)
    assert "Nobody is told of such alerts until" in page
    assert "order.close jobs die" in page
    assert "the shop moves" in page

    ended = person.post(f"{PAGE}silence/{row.pk}/end/", follow=True)

    assert "The silence is over" in words_of(ended.content)
    assert "the shop moves" not in words_of(ended.content)
    deeds = AuditEntry.objects.order_by("id").values_list("verb", "biz_type_id", "what", "reason")
    assert list(deeds) == [
        ("alert.silence", biz_type.pk, "order.close", "the shop moves"),
        ("alert.end_silence", biz_type.pk, "", "the shop moves"),
    ]


@pytest.mark.parametrize(("about", "biz_type_id"), [("", None), ("site", 0)])
def test_a_silence_may_be_about_all_or_about_the_site(person: Client, about: str, biz_type_id: int | None) -> None:
    person.post(f"{PAGE}silence/", {"about": about, "kind": "", "length": "900", "reason": "a move"})

    assert AlertSilence.objects.get().biz_type_id == biz_type_id


@pytest.mark.parametrize(
    "wrong", [{"reason": ""}, {"length": "resumed"}, {"length": "at", "until": "2020-01-01T00:00"}, {"about": "99999"}]
)
def test_one_without_a_reason_an_end_or_a_biz_type_is_refused(person: Client, wrong: dict[str, str]) -> None:
    said = person.post(f"{PAGE}silence/", {"about": "", "kind": "", "length": "900", "reason": "a move", **wrong})

    assert said.status_code == 200
    assert "errorlist" in said.content.decode()
    assert not AlertSilence.objects.exists()


def test_the_biz_type_of_an_alert_is_chosen_although_the_page_offers_few(
    person: Client, biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silencing, "MOST_OFFERED", 0)
    chosen = f'<option value="{biz_type.pk}" selected>order.close</option>'
    assert chosen in person.get(f"{PAGE}silence/?about={biz_type.pk}").content.decode()

    person.post(f"{PAGE}silence/", {"about": str(biz_type.pk), "kind": "", "length": "900", "reason": "a move"})

    assert AlertSilence.objects.get().biz_type_id == biz_type.pk


def test_a_biz_type_that_is_gone_does_not_become_all_of_them(person: Client) -> None:
    assert '<option value="4711" selected>' in person.get(f"{PAGE}silence/?about=4711").content.decode()


def test_an_alert_is_taken_by_a_button_once(person: Client) -> None:
    alert = open_alert()
    assert "I see to it" in words_of(person.get(PAGE).content)

    person.post(f"{PAGE}{alert.pk}/take/")
    again = person.post(f"{PAGE}{alert.pk}/take/", follow=True)

    alert.refresh_from_db()
    assert alert.taken_by == "admin"
    assert "somebody sees to it already" in words_of(again.content)
    assert "admin sees to it" in words_of(again.content)
    assert "I see to it" not in words_of(again.content)


def test_a_viewer_sees_silences_and_changes_none(viewer: Client) -> None:
    alert = open_alert()
    now = timezone.now()
    row = AlertSilence.objects.create(began_at=now, until=now + timedelta(hours=1), by="ada", reason="the shop moves")

    page = words_of(viewer.get(PAGE).content)

    assert "the shop moves" in page
    assert "I see to it" not in page
    for address in (f"silence/{row.pk}/end/", f"{alert.pk}/take/", "silence/"):
        assert viewer.post(f"{PAGE}{address}").status_code == 403, address
    assert viewer.get(f"{PAGE}silence/").status_code == 403


@pytest.mark.parametrize("address", ["silence/77/end/", "77/take/"])
def test_what_is_not_there_is_not_found_and_nothing_is_done_by_looking(person: Client, address: str) -> None:
    assert person.post(f"{PAGE}{address}").status_code == 404
    assert person.get(f"{PAGE}{address}").status_code == 405
